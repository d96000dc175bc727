# The lit suite: IR tests, executed tests and tests of the tools' command lines.
import os
import shutil

import lit.formats

config.name = "LLMC"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "Inputs", "lib"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.llmc_obj_root, "test")

tools = [os.path.join(config.llmc_obj_root, "bin"), config.llvm_tools_dir]
config.environment["PATH"] = os.path.pathsep.join(tools + [config.environment.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
config.environment["LC_ALL"] = "C.UTF-8"

config.substitutions.append(("%source_dir", config.llmc_src_root))
config.substitutions.append(("%build_dir", config.llmc_obj_root))
config.substitutions.append(("%python", config.python))

# A missing feature is reported as unsupported, never silently passed.
if shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"):
    config.available_features.add("ptxas")
    config.environment["PATH"] += os.path.pathsep + "/usr/local/cuda/bin"
if shutil.which("clang"):
    config.available_features.add("clang")
shared = os.path.join(config.llmc_src_root, os.path.pardir, "shared")
if os.path.exists(os.path.join(shared, "checks", "check.py")):
    config.available_features.add("shared")
    config.substitutions.append(("%shared", os.path.realpath(shared)))
# Published models, where scripts/test.sh could fetch them.
for name, file in (
    ("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    ("gemma3", "gemma-3-270m-q4_k_m.gguf"),
):
    model = os.path.join(config.llmc_src_root, "build", "models", file)
    if os.path.exists(model):
        config.available_features.add(name)
        config.substitutions.append(("%" + name, model))
