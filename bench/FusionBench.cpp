//===- FusionBench.cpp - fusions against their unfused bodies -------------===//
//
// Each file of bench/fusions is a function of llm operations of which one pattern makes one
// fusion. That is lowered twice, as it is and inlined, and both programs run on one team of threads
// with the meetings that a step has between launches, by turns in one process: what disturbs one
// disturbs the other. A step holds the launches several times over, as layers do. Both have to give the
// same bits. Manual time is that of one body of each; counters:
//
//   fused, unfused              microseconds of one body: the lower quartile of the turns, since
//                               other work on the machine only ever adds; with one thread, the
//                               processor's time
//   ratio                       unfused / fused of these
//   launches, launches_unfused  of one body
//
//   FusionBench [--threads=N] [FILE.mlir ...] [Google Benchmark's flags]
//
//===----------------------------------------------------------------------===//
#include "KernelBench.h"
#include "llmc/Conversion/Passes.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "llmc/InitAllDialects.h"
#include "llmc/Kernels/CPU/Packing.h"
#include "llmc/Kernels/KernelConfig.h"
#include "llmc/Runtime/Device.h"
#include "llmc/Runtime/ThreadTeam.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <ctime>
#include <deque>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>

using namespace mlir;
using namespace llmc;
using namespace llmc::kernels::bench;

namespace {

constexpr int64_t blockTokens = 32, bodiesOfStep = 16;

[[noreturn]] void die(const std::string &what) {
  std::cerr << "FusionBench: " << what << "\n";
  std::exit(1);
}

/// Rows that a step computes, of some sequences that have equally many and as many positions
/// behind them.
struct Rows {
  int64_t tokens, past, sequences = 1;

  int64_t length() const { return past + tokens / sequences; }
  int64_t blocksOfSequence() const { return (length() + blockTokens - 1) / blockTokens; }
  int64_t blocks() const { return sequences * blocksOfSequence(); }
};

/// The launches of one program, loaded, with memory for the largest step.
class Program {
public:
  /// `steps` are those that it has memory for.
  Program(ModuleOp module, const llmc_device_api &api, llmc_device *device,
          const std::vector<Rows> &steps);
  ~Program();
  Program(const Program &) = delete;

  /// Prepares the command list of a step.
  void bind(llmc_batch &batch);
  void run();
  /// Bytes of the function's results, one after another.
  std::vector<float> results() const;
  size_t launchCount() const { return launches.size(); }

private:
  struct Launch {
    uint32_t kernel;
    std::vector<void *> args;
    plan::ItemsAttr items;
  };
  void allocateAll(plan::ProgramOp program, const std::vector<Rows> &steps);
  void load(plan::ProgramOp program);

  const llmc_device_api &api;
  llmc_device *device;
  llmc_device_module *loaded = nullptr;
  std::map<std::string, uint32_t> kernelNumbers;
  std::map<std::string, Memory> memory;
  std::vector<std::pair<std::string, int64_t>> outputs; ///< Slices and columns.
  std::vector<Launch> launches;
  std::vector<llmc_command> commands;
  llmc_device_step step{};
  Memory workspace;
  int64_t scratch = 64, tokens = 0;
};

int64_t countOf(plan::Extent extent, const llmc_batch &batch) {
  switch (extent) {
  case plan::Extent::Tokens: return batch.tokens;
  case plan::Extent::Outputs: return batch.outputs;
  case plan::Extent::Sequences: return batch.sequences;
  default: return 1;
  }
}

/// Numbers around nothing in the element type of the memory; bytes of other formats are small.
void fill(void *memory, int64_t bytes, StringRef storage, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.5f);
  if (storage == "f32") {
    for (int64_t i = 0; i < bytes / 4; ++i)
      static_cast<float *>(memory)[i] = normal(random);
  } else if (storage == "bf16") {
    for (int64_t i = 0; i < bytes / 2; ++i) {
      float value = normal(random);
      std::memcpy(static_cast<char *>(memory) + 2 * i, reinterpret_cast<char *>(&value) + 2, 2);
    }
  } else {
    std::memset(memory, 0x1c, size_t(bytes));
  }
}

Program::Program(ModuleOp module, const llmc_device_api &api, llmc_device *device,
                 const std::vector<Rows> &steps)
    : api(api), device(device) {
  auto program = *module.getOps<plan::ProgramOp>().begin();
  load(program);
  allocateAll(program, steps);
  program.walk([&](plan::LaunchOp op) {
    Launch launch{kernelNumbers.at(op.getKernel().str()), {nullptr}, op.getItems()};
    for (auto use : op.getUses().getAsRange<plan::UseAttr>())
      launch.args.push_back(memory.at(use.getSymbol().getValue().str()).get());
    launches.push_back(std::move(launch));
  });
  program.walk([&](plan::OutputOp op) {
    outputs.push_back({op.getSlice().str(), int64_t(op.getWidth())});
  });
}

Program::~Program() { api.module_unload(device, loaded); }

void Program::load(plan::ProgramOp program) {
  OwningOpRef<ModuleOp> code = ModuleOp::create(program.getLoc());
  std::vector<std::string> names, symbols;
  for (auto kernel : program.getOps<plan::KernelOp>()) {
    for (const kernels::KernelGenerator &generator : kernels::cpuGenerators())
      if (generator.name == kernel.getGenerator())
        for (const kernels::CPUVariant &variant : kernels::cpuVariants()) {
          std::string problem = generator.build(
              *code, kernel->getAttrOfType<DictionaryAttr>("plan.config"), variant);
          if (!problem.empty())
            die(problem);
        }
    kernelNumbers[kernel.getSymName().str()] = uint32_t(names.size());
    names.push_back(kernel.getSymName().str());
    symbols.push_back(kernel.getSymbol().str());
    scratch = std::max(scratch, (int64_t(kernel.getScratch()) + 63) / 64 * 64);
  }
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("llmc-bench", folder))
    die("no folder for kernels");
  if (failed(kernels::compileKernels(*code, (folder + "/kernels.so").str())))
    die("the kernels do not compile");
  std::vector<llmc_device_kernel> kernels;
  for (auto [name, symbol] : llvm::zip(names, symbols)) {
    llmc_device_kernel kernel{};
    kernel.name = name.c_str();
    kernel.symbol = symbol.c_str();
    kernels.push_back(kernel);
  }
  std::vector<std::string> suffixes, variantNames;
  for (const kernels::CPUVariant &variant : kernels::cpuVariants()) {
    suffixes.push_back(variant.suffix.str());
    variantNames.push_back(variant.name.str());
  }
  std::vector<llmc_device_variant> variants;
  for (auto [i, variant] : llvm::enumerate(kernels::cpuVariants())) {
    if (!kernels::hostSupports(variant))
      continue;
    llmc_device_variant entry{};
    entry.name = variantNames[i].c_str();
    entry.suffix = suffixes[i].c_str();
    variants.push_back(entry);
  }
  llmc_device_module_desc desc{};
  desc.folder = folder.c_str();
  desc.variants = variants.data();
  desc.variant_count = variants.size();
  desc.kernels = kernels.data();
  desc.kernel_count = kernels.size();
  const char *variant = nullptr;
  llmc_device_error error{};
  if (api.module_load(device, &desc, &loaded, &variant, &error) != LLMC_DEVICE_OK)
    die(error.text);
  llvm::sys::fs::remove_directories(folder);
}

/// Equal numbers wherever rows of that tensor are packed, however they are laid out.
void fillWeights(void *memory, plan::WeightsOp weights) {
  std::string storageName;
  llvm::raw_string_ostream(storageName) << weights.getStorage();
  auto storage = kernels::findStorage(storageName);
  auto panels = dyn_cast<plan::PanelsAttr>(weights.getLayout());
  int64_t bytes = int64_t(weights.getBytes());
  if (!panels || !storage)
    return fill(memory, bytes, storageName, uint32_t(llvm::xxh3_64bits(weights.getSymName())));
  int64_t matrices = int64_t(weights.getMatrices());
  int64_t rowBytes = kernels::sourceRowBytes(*storage, int64_t(weights.getCols()));
  kernels::PackSpec spec{*storage, int64_t(weights.getCols()), panels.getTile(),
                         int64_t(weights.getInterleave())};
  std::span<std::byte> packed(static_cast<std::byte *>(memory), size_t(bytes));
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    std::deque<std::vector<std::byte>> rows;
    std::vector<kernels::PackSource> sources;
    for (auto source : weights.getSources().getAsRange<plan::SourceAttr>()) {
      std::vector<std::byte> &data = rows.emplace_back();
      if (!source.getTensor().empty()) {
        data.resize(size_t(source.getRows() * rowBytes));
        fill(data.data(), int64_t(data.size()), storageName,
             uint32_t(llvm::xxh3_64bits(source.getTensor()) + uint64_t(matrix)));
      }
      sources.push_back({source.getRows(), data});
    }
    kernels::packPanels(spec, sources, packed.subspan(size_t(matrix * bytes / matrices),
                                                      size_t(bytes / matrices)));
  }
}

int64_t mostOf(const std::vector<Rows> &steps, llvm::function_ref<int64_t(Rows)> value) {
  int64_t most = 0;
  for (Rows rows : steps)
    most = std::max(most, value(rows));
  return most;
}

int64_t mostTokens(const std::vector<Rows> &steps) {
  return mostOf(steps, [](Rows rows) { return rows.tokens; });
}

void Program::allocateAll(plan::ProgramOp program, const std::vector<Rows> &steps) {
  int64_t tokens = mostTokens(steps);
  int64_t sequences = mostOf(steps, [](Rows rows) { return rows.sequences; });
  int64_t blocks = mostOf(steps, [](Rows rows) { return rows.blocks(); });
  auto add = [&](StringRef name, int64_t bytes) {
    Memory own = allocate(std::max<int64_t>(bytes, 64), 0);
    void *address = own.get();
    memory[name.str()] = std::move(own);
    return address;
  };
  for (auto slice : program.getOps<plan::SliceOp>()) {
    int64_t bytes = plan::Size::fromMap(slice.getSize())
                        ->evaluate({tokens, tokens, sequences, blocks, 1, blocks});
    void *address = add(slice.getSymName(), bytes);
    if (slice.getArena() == "communication")
      fill(address, bytes, "f32", uint32_t(llvm::xxh3_64bits(slice.getSymName())));
  }
  for (auto weights : program.getOps<plan::WeightsOp>())
    fillWeights(add(weights.getSymName(), int64_t(weights.getBytes())), weights);
  for (auto state : program.getOps<plan::StateOp>()) {
    int64_t bytes = int64_t(state.getBytesPerBlock().value_or(0)) * blocks;
    fill(add(state.getSymName(), bytes), bytes, "f32", 7);
  }
}

void Program::bind(llmc_batch &batch) {
  tokens = batch.tokens;
  commands.clear();
  for (int64_t i = 0; i < bodiesOfStep; ++i)
    for (Launch &launch : launches) {
      launch.args[0] = &batch;
      plan::ItemsAttr items = launch.items;
      llmc_command command{};
      command.kind = LLMC_COMMAND_LAUNCH;
      command.kernel = launch.kernel;
      command.args = launch.args.data();
      command.arg_count = int64_t(launch.args.size());
      int64_t count = countOf(items.getOf(), batch);
      command.items =
          items.getFactor() * ((count + items.getTile() - 1) / items.getTile()) + items.getPlus();
      commands.push_back(command);
    }
  llmc_device_info info;
  api.describe(device, &info);
  workspace = allocate(scratch * info.threads, 0);
  step.module = loaded;
  step.commands = commands.data();
  step.command_count = commands.size();
  step.batch = &batch;
  step.workspace = workspace.get();
  step.workspace_bytes = scratch * info.threads;
}

void Program::run() {
  llmc_device_error error{};
  if (api.launch(device, &step, &error) != LLMC_DEVICE_OK)
    die(error.text);
}

std::vector<float> Program::results() const {
  std::vector<float> all;
  for (const auto &[slice, width] : outputs) {
    const float *data = static_cast<const float *>(memory.at(slice).get());
    all.insert(all.end(), data, data + tokens * width);
  }
  return all;
}

/// One file: both programs and the steps to take.
struct Case {
  std::string name, pattern;
  std::vector<Rows> steps;
  std::unique_ptr<Program> fused, unfused;
};

/// Leaves the fusion and what feeds it; the function returns its rows, and its own arguments, which
/// are so never written over. False where there is not one fusion.
bool isolateFusion(ModuleOp module) {
  SmallVector<llm::FusionOp> fusions;
  module.walk([&](llm::FusionOp fusion) { fusions.push_back(fusion); });
  if (fusions.size() != 1)
    return false;
  auto function = fusions[0]->getParentOfType<func::FuncOp>();
  SmallVector<Value> results;
  auto add = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.getElementType().isF32())
      results.push_back(value);
  };
  llvm::for_each(fusions[0].getResults(), add);
  llvm::for_each(function.getArguments(), add);
  Block &body = function.getBody().front();
  body.getTerminator()->setOperands(results);
  function.setFunctionType(FunctionType::get(module.getContext(), function.getArgumentTypes(),
                                             TypeRange(ValueRange(results))));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return true;
}

void run(ModuleOp module, std::unique_ptr<Pass> pass) {
  PassManager pm(module.getContext());
  pm.addPass(std::move(pass));
  if (failed(pm.run(module)))
    die("the program does not become a plan");
}

OwningOpRef<ModuleOp> lower(ModuleOp source, bool fused, const std::vector<Rows> &steps) {
  OwningOpRef<ModuleOp> module = source.clone();
  if (!fused)
    run(*module, llm::createInlineFusionsPass());
  ConvertLLMToPlanPassOptions options;
  options.maxTokens = options.maxOutputs = mostTokens(steps);
  options.maxSequences = mostOf(steps, [](Rows rows) { return rows.sequences; });
  options.maxContext = mostOf(steps, [](Rows rows) { return rows.length(); });
  options.blockTokens = blockTokens;
  run(*module, createConvertLLMToPlanPass(options));
  return module;
}

Case prepare(MLIRContext &context, const std::filesystem::path &path, const llmc_device_api &api,
             llmc_device *device) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path.string(), &context);
  if (!module)
    die(path.string() + " cannot be read");
  Case result;
  result.name = path.stem();
  auto pattern = (*module)->getAttrOfType<StringAttr>("bench.pattern");
  auto steps = (*module)->getAttrOfType<ArrayAttr>("bench.steps");
  if (!pattern || !llm::findFusionPattern(pattern.getValue()) || !steps)
    die(path.string() + ": bench.pattern names a fusion, bench.steps lists [tokens, past]");
  result.pattern = pattern.str();
  for (Attribute attr : steps) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(attr);
    ArrayRef<int64_t> n = numbers ? numbers.asArrayRef() : ArrayRef<int64_t>();
    if (n.size() < 2 || n.size() > 3 || n[0] < 1 || n[1] < 0 ||
        (n.size() == 3 && (n[2] < 1 || n[0] % n[2])))
      die(path.string() + ": a step is array<i64: tokens, past> or, of several sequences that "
                          "share the tokens, array<i64: tokens, past, sequences>");
    result.steps.push_back({n[0], n[1], n.size() == 3 ? n[2] : 1});
  }
  llm::FusionSettings settings;
  settings.figures = findTarget("cpu")->fusion;
  run(*module, llm::findFusionPattern(result.pattern)->create(settings));
  if (!isolateFusion(*module))
    die(path.string() + ": " + result.pattern + " does not make one fusion of it");
  result.fused = std::make_unique<Program>(*lower(*module, true, result.steps), api, device,
                                           result.steps);
  result.unfused = std::make_unique<Program>(*lower(*module, false, result.steps), api, device,
                                             result.steps);
  return result;
}

double lowerQuartile(std::vector<double> values) {
  auto middle = values.begin() + int64_t(values.size() / 4);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Seconds; of one thread those of the processor, which do not count what others do meanwhile.
double now(int threads) {
  timespec time;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

void measure(benchmark::State &state, Case &bench, Rows rows, int threads) {
  int64_t blocks = rows.blocks(), each = rows.tokens / rows.sequences;
  std::vector<int32_t> positions(rows.tokens), sequences(rows.tokens), table(blocks),
      chosen(rows.tokens), starts(rows.sequences + 1), lengths(rows.sequences),
      ids(rows.tokens, 0), slots(rows.sequences);
  for (int64_t i = 0; i < rows.tokens; ++i) {
    positions[i] = int32_t(rows.past + i % each);
    sequences[i] = int32_t(i / each);
    chosen[i] = int32_t(i);
  }
  for (int64_t i = 0; i < rows.sequences; ++i) {
    starts[i + 1] = int32_t((i + 1) * each);
    lengths[i] = int32_t(rows.length());
    slots[i] = int32_t(i);
  }
  for (int64_t i = 0; i < blocks; ++i)
    table[i] = int32_t(blocks - 1 - i);
  llmc_batch batch{};
  batch.tokens = batch.outputs = rows.tokens;
  batch.sequences = rows.sequences;
  batch.blocks = blocks;
  batch.table_stride = rows.blocksOfSequence();
  batch.token_ids = ids.data();
  batch.positions = positions.data();
  batch.token_seq = sequences.data();
  batch.query_start = starts.data();
  batch.context_len = batch.extents = lengths.data();
  batch.block_table = table.data();
  batch.output_rows = chosen.data();
  batch.slots = slots.data();
  bench.fused->bind(batch);
  bench.unfused->bind(batch);
  bench.fused->run();
  bench.unfused->run();
  std::vector<float> a = bench.fused->results(), b = bench.unfused->results();
  if (a.empty() || a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size() * 4))
    die(bench.name + ": fused and unfused differ");

  auto timed = [&](Program &program) {
    double begin = now(threads);
    program.run();
    return (now(threads) - begin) / bodiesOfStep;
  };
  std::vector<double> fused, unfused;
  for (auto _ : state) {
    bool fusedFirst = fused.size() % 2;
    double first = timed(fusedFirst ? *bench.fused : *bench.unfused);
    double second = timed(fusedFirst ? *bench.unfused : *bench.fused);
    fused.push_back(fusedFirst ? first : second);
    unfused.push_back(fusedFirst ? second : first);
    state.SetIterationTime(first + second);
  }
  double of = lowerQuartile(fused), without = lowerQuartile(unfused);
  state.counters["fused"] = of * 1e6;
  state.counters["unfused"] = without * 1e6;
  state.counters["ratio"] = without / of;
  state.counters["launches"] = double(bench.fused->launchCount());
  state.counters["launches_unfused"] = double(bench.unfused->launchCount());
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  int threads = rt::ThreadTeam::availableThreads();
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    if (text.starts_with("--threads="))
      threads = std::atoi(text.c_str() + 10);
    else if (text.starts_with("-"))
      die("unknown flag " + text);
    else
      files.push_back(text);
  }
  if (files.empty())
    for (const auto &entry : std::filesystem::directory_iterator(LLMC_BENCH_FUSIONS))
      if (entry.path().extension() == ".mlir")
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (threads < 1 || threads > 1024 || files.empty())
    die("needs 1 to 1024 threads and at least one file");

  DialectRegistry registry;
  registerAllDialects(registry);
  kernels::registerKernelDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects();
  const llmc_device_api &api = *rt::cpuDevice();
  llmc_device *device = nullptr;
  llmc_device_options options{};
  options.threads = threads;
  llmc_device_error error{};
  if (api.open(&options, &device, &error) != LLMC_DEVICE_OK)
    die(error.text);
  {
    std::vector<Case> cases;
    for (const std::filesystem::path &file : files)
      cases.push_back(prepare(context, file, api, device));
    for (Case &bench : cases)
      for (Rows rows : bench.steps) {
        llm::FusionFamily family = llm::findFusionPattern(bench.pattern)->family;
        std::string name = llm::fusionFamilyName(family).str() + "/" + bench.pattern + "/" +
                           bench.name + "/" + std::to_string(rows.tokens) +
                           (rows.past ? "+" + std::to_string(rows.past) : "") +
                           (rows.sequences > 1 ? "x" + std::to_string(rows.sequences) : "");
        auto body = [&bench, rows, threads](benchmark::State &state) {
          measure(state, bench, rows, threads);
        };
        benchmark::RegisterBenchmark(name.c_str(), body)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    benchmark::RunSpecifiedBenchmarks();
  }
  api.close(device);
  return 0;
}
