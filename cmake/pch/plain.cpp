// Gives the precompiled header of the plain flag set a target.
