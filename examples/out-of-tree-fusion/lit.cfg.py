import os
import lit.formats

config.name = "ScaledActivation"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.test_exec_root = os.path.join(lit_config.params["build"], "test")
config.environment["PATH"] = lit_config.params["llmc"] + "/bin:/usr/lib/llvm-22/bin:" + os.environ["PATH"]
config.substitutions.append(("%plugin", lit_config.params["build"] + "/ScaledActivation.so"))
