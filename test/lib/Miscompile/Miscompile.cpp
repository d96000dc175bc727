//===- Miscompile.cpp - passes with a mistake on purpose ------------------===//
#include "Miscompile.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <utility>

using namespace mlir;

namespace llmc::test {

namespace {
class MiscompileInstrumentation final : public PassInstrumentation {
public:
  explicit MiscompileInstrumentation(const Miscompilation &mistake) : mistake(mistake) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument() != mistake.pass)
      return;
    while (Operation *parent = op->getParentOp())
      op = parent;
    // Once, also where a program is run again and again to make it small.
    static bool told = false;
    if (!mistake.apply(cast<ModuleOp>(op)) && !std::exchange(told, true))
      llvm::errs() << "test-miscompile: " << mistake.name << ": pass '" << mistake.pass
                   << "' left nothing to make the mistake at\n";
  }

private:
  const Miscompilation &mistake;
};
} // namespace

std::vector<Miscompilation> miscompilations() {
  std::vector<Miscompilation> all;
  for (ArrayRef<Miscompilation> some :
       {programMiscompilations(), planMiscompilations(), kernelMiscompilations()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

const Miscompilation *findMiscompilation(StringRef name) {
  static const std::vector<Miscompilation> all = miscompilations();
  auto found = llvm::find_if(all, [&](const Miscompilation &one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void miscompile(PassManager &pm, const Miscompilation &mistake) {
  pm.addInstrumentation(std::make_unique<MiscompileInstrumentation>(mistake));
}

const Miscompilation *takeMiscompilation(int &argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    StringRef flag(argv[i]);
    if (!flag.consume_front("--test-miscompile="))
      continue;
    for (int j = i; j + 1 < argc; ++j)
      argv[j] = argv[j + 1];
    --argc;
    if (flag == "list") {
      for (const Miscompilation &one : miscompilations())
        llvm::outs() << one.name << "\t" << one.pass << "\t" << one.model << "\t" << one.what
                     << "\n";
      llvm::outs().flush();
      std::exit(0);
    }
    const Miscompilation *found = findMiscompilation(flag);
    if (!found) {
      llvm::errs() << "--test-miscompile=" << flag << " is none; see --test-miscompile=list\n";
      std::exit(2);
    }
    return found;
  }
  return nullptr;
}

} // namespace llmc::test
