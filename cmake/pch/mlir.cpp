// Gives the precompiled header of the MLIR flag set a target.
