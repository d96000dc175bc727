//===- PlanExecution.cpp - steps of an artifact in another process --------===//
#include "PlanExecution.h"

#include "llmc/Runtime/KernelABI.h"
#include "llmc/Runtime/Session.h"
#include "llmc/Support/Error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace llmc {

namespace {

/// Seconds after which a step is taken for one that never ends.
constexpr unsigned mostSeconds = 60;

constexpr const char *resultFile = "run.bin", *messageFile = "run.txt";

//===----------------------------------------------------------------------===//
// The file between the two processes; both are this program.
//===----------------------------------------------------------------------===//

template <typename T> void put(std::ostream &out, const T &value) {
  out.write(reinterpret_cast<const char *>(&value), sizeof value);
}

template <typename T> T get(std::istream &in) {
  T value{};
  in.read(reinterpret_cast<char *>(&value), sizeof value);
  return value;
}

void writeTensor(std::ostream &out, const SeenTensor &tensor, uint32_t step) {
  put(out, step);
  put(out, uint32_t(tensor.occurrence));
  put(out, uint32_t(tensor.name.size()));
  out << tensor.name;
  put(out, uint32_t(tensor.shape.size()));
  for (int64_t dim : tensor.shape)
    put(out, dim);
  put(out, uint64_t(tensor.values.size()));
  out.write(reinterpret_cast<const char *>(tensor.values.data()),
            std::streamsize(tensor.values.size() * sizeof(double)));
}

ProgramRun readTensors(const fs::path &path, llvm::ArrayRef<NamedStep> steps) {
  std::ifstream in(path, std::ios::binary);
  ProgramRun run;
  while (in.peek() != std::char_traits<char>::eof()) {
    SeenTensor tensor;
    tensor.step = steps[get<uint32_t>(in)].name;
    tensor.occurrence = get<uint32_t>(in);
    tensor.name.resize(get<uint32_t>(in));
    in.read(tensor.name.data(), std::streamsize(tensor.name.size()));
    tensor.shape.resize(get<uint32_t>(in));
    for (int64_t &dim : tensor.shape)
      dim = get<int64_t>(in);
    tensor.values.resize(size_t(get<uint64_t>(in)));
    in.read(reinterpret_cast<char *>(tensor.values.data()),
            std::streamsize(tensor.values.size() * sizeof(double)));
    run.tensors.push_back(std::move(tensor));
  }
  return run;
}

//===----------------------------------------------------------------------===//
// The child
//===----------------------------------------------------------------------===//

class Child {
public:
  Child(const fs::path &folder, llvm::ArrayRef<NamedStep> steps, unsigned threads)
      : steps(steps), out(folder / resultFile, std::ios::binary),
        session(rt::Artifact::open(folder), optionsFor(steps, threads)) {}

  void run() {
    for (auto [number, named] : llvm::enumerate(steps))
      runStep(uint32_t(number), named.step);
    out.close();
    if (!out)
      throw InputError("the results cannot be written; is the disk full?");
  }

private:
  static rt::SessionOptions optionsFor(llvm::ArrayRef<NamedStep> steps, unsigned threads) {
    rt::SessionOptions options;
    options.threads = int(threads);
    options.poison = options.permuteBlocks = true;
    for (const NamedStep &named : steps) {
      const reference::Batch &batch = named.step.batch;
      options.maxSequences = std::max(options.maxSequences, int64_t(batch.sequences.size()));
      for (const auto &sequence : batch.sequences)
        options.maxContext = std::max(options.maxContext, sequence.start + sequence.count);
    }
    return options;
  }

  void add(uint32_t step, std::string name, reference::Shape shape, std::vector<double> values) {
    unsigned occurrence = seen[name]++;
    writeTensor(out, {std::move(name), occurrence, {}, std::move(shape), std::move(values)}, step);
  }

  void runStep(uint32_t number, const reference::Step &step) {
    session.observe([&](const rt::Observation &shown) {
      reference::Shape shape{shown.rows, shown.width};
      if (shown.heads > 1)
        shape = {shown.rows, shown.heads, shown.width / shown.heads};
      add(number, shown.name, shape,
          std::vector<double>(shown.data, shown.data + shown.rows * shown.width));
    });
    std::vector<rt::StepInput> inputs;
    size_t at = 0;
    for (const auto &sequence : step.batch.sequences) {
      auto [id, isNew] = ids.try_emplace(sequence.id, 0);
      if (isNew)
        id->second = session.addSequence();
      inputs.push_back({id->second,
                        std::span(step.tokens).subspan(at, size_t(sequence.count)),
                        rt::Logits::Last});
      at += size_t(sequence.count);
    }
    rt::StepOutput output = session.step(inputs);
    std::vector<double> logits;
    for (int64_t row = 0; row < output.rows; ++row)
      logits.insert(logits.end(), output.row(row).begin(), output.row(row).end());
    add(number, "the entry's result", {output.rows, output.width}, std::move(logits));
  }

  llvm::ArrayRef<NamedStep> steps;
  std::ofstream out;
  rt::Session session;
  std::map<int64_t, int32_t> ids;
  std::map<std::string, unsigned> seen;
};

//===----------------------------------------------------------------------===//
// One kernel alone
//===----------------------------------------------------------------------===//

/// Memory between guards, aligned as operands are.
class Guarded {
public:
  explicit Guarded(int64_t bytes) : size(size_t(bytes)), memory(2 * guard + size + alignment) {
    size_t off = reinterpret_cast<uintptr_t>(memory.data()) % alignment;
    start = guard + (off ? alignment - off : 0);
    clear();
  }

  void clear() { std::fill(memory.begin(), memory.end(), pattern); }
  /// Leaves NaN outside of the bytes from `first` to `last`.
  void keepOnly(int64_t first, int64_t last) {
    std::fill(data(), data() + first, 0xff);
    std::fill(data() + last, data() + size, 0xff);
  }
  void assign(const std::vector<unsigned char> &content) {
    std::copy(content.begin(), content.end(), memory.begin());
  }
  unsigned char *data() { return memory.data() + start; }
  const std::vector<unsigned char> &all() const { return memory; }
  /// The first byte before or behind the memory from `first` to `last` that is not as in
  /// `before`, counted from its start.
  std::optional<int64_t> changedAround(const std::vector<unsigned char> &before, int64_t first,
                                       int64_t last) const {
    for (size_t i = 0; i < memory.size(); ++i)
      if (int64_t at = int64_t(i) - int64_t(start); (at < first || at >= last) && memory[i] != before[i])
        return at;
    return std::nullopt;
  }

private:
  static constexpr size_t guard = 1 << 16, alignment = 64;
  static constexpr unsigned char pattern = 0xc5;
  size_t size, start = 0;
  std::vector<unsigned char> memory;
};

class LoneRun {
public:
  LoneRun(const fs::path &kernels, const LoneKernel &kernel)
      : kernel(kernel), scratch(kernel.scratch) {
    void *library = ::dlopen(kernels.c_str(), RTLD_NOW | RTLD_LOCAL);
    function = library ? llmc_kernel_fn(::dlsym(library, kernel.symbol.c_str())) : nullptr;
    if (!function)
      throw InputError("it is not in the kernels that were compiled");
    std::mt19937 random(1);
    std::uniform_real_distribution<float> draw(-2, 2);
    for (const LoneKernel::Operand &operand : kernel.operands) {
      operands.emplace_back(operand.bytes * (operand.hasRows ? rows : 1));
      auto *values = reinterpret_cast<float *>(operands.back().data());
      for (int64_t i = 0; !operand.isWritten && i < bytesOf(operands.size() - 1) / 4; ++i)
        values[i] = draw(random);
    }
    batch.tokens = batch.outputs = rows;
    batch.sequences = batch.blocks = batch.table_stride = 1;
    batch.token_ids = batch.token_seq = batch.block_table = batch.slots = zeros;
    batch.positions = batch.output_rows = ascending;
    batch.query_start = bounds;
    batch.context_len = batch.extents = &bounds[1];
    for (int32_t row = 0; row < rows; ++row)
      ascending[row] = row;
  }

  void run() {
    std::vector<std::vector<unsigned char>> first = resultsOfLoneRows();
    for (const std::vector<int64_t> &cuts : {std::vector<int64_t>{0, rows}, {0, 2, 7, rows}}) {
      std::vector<std::vector<unsigned char>> others = resultsOf(cuts);
      if (others != first)
        throw InputError("its bits depend on where items are cut: " +
                         std::to_string(rows) + " rows in " + std::to_string(cuts.size() - 1) +
                         (cuts.size() == 2 ? " call" : " calls") +
                         " are not what they are in a call for each row");
    }
  }

private:
  static constexpr int64_t rows = 11;

  int64_t bytesOf(size_t i) const {
    return kernel.operands[i].bytes * (kernel.operands[i].hasRows ? rows : 1);
  }

  /// What the kernel writes in a call for each row. The other rows are not there: inputs are
  /// NaN, and results that another call wrote would hide that this one writes them too.
  std::vector<std::vector<unsigned char>> resultsOfLoneRows() {
    std::vector<std::vector<unsigned char>> inputs, results(operands.size());
    for (Guarded &operand : operands)
      inputs.push_back(operand.all());
    for (int64_t row = 0; row < rows; ++row) {
      for (auto [i, operand] : llvm::enumerate(kernel.operands)) {
        operands[i].assign(inputs[i]);
        if (operand.isWritten)
          operands[i].clear();
        else if (operand.hasRows)
          operands[i].keepOnly(row * operand.bytes, (row + 1) * operand.bytes);
      }
      call(row, row + 1);
      for (auto [i, operand] : llvm::enumerate(kernel.operands)) {
        int64_t begin = operand.hasRows ? row * operand.bytes : 0;
        if (operand.isWritten && (operand.hasRows || row + 1 == rows))
          results[i].insert(results[i].end(), operands[i].data() + begin,
                            operands[i].data() + begin + operand.bytes);
      }
    }
    for (auto [i, operand] : llvm::enumerate(operands))
      operand.assign(inputs[i]);
    llvm::erase_if(results, [](const auto &bytes) { return bytes.empty(); });
    return results;
  }

  /// What the kernel writes in calls from one cut to the next.
  std::vector<std::vector<unsigned char>> resultsOf(const std::vector<int64_t> &cuts) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (kernel.operands[i].isWritten)
        operands[i].clear();
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      call(cuts[i], cuts[i + 1]);
    std::vector<std::vector<unsigned char>> results;
    for (size_t i = 0; i < operands.size(); ++i)
      if (kernel.operands[i].isWritten)
        results.emplace_back(operands[i].data(), operands[i].data() + bytesOf(i));
    return results;
  }

  void call(int64_t begin, int64_t end) {
    std::vector<std::vector<unsigned char>> before;
    std::vector<void *> args{&batch};
    for (Guarded &operand : operands) {
      before.push_back(operand.all());
      args.push_back(operand.data());
    }
    scratch.clear();
    std::vector<unsigned char> cleared = scratch.all();
    function(args.data(), begin, end, scratch.data());
    std::string items = "given rows " + std::to_string(begin) + " to " + std::to_string(end - 1) +
                        " of " + std::to_string(rows) + ", it changes ";
    for (size_t i = 0; i < operands.size(); ++i) {
      const LoneKernel::Operand &operand = kernel.operands[i];
      bool mayWrite = operand.isWritten && operand.hasRows;
      int64_t first = mayWrite ? begin * operand.bytes : 0, last = mayWrite ? end * operand.bytes : 0;
      if (auto at = operands[i].changedAround(before[i], first, last))
        throw InputError(items + "byte " + std::to_string(*at) + " of args[" +
                         std::to_string(i + 1) + "], which has " + std::to_string(bytesOf(i)) +
                         " bytes" + (mayWrite ? " and of which its rows are bytes " + std::to_string(first) +
                                                    " to " + std::to_string(last - 1)
                                              : " and is only read"));
    }
    if (auto at = scratch.changedAround(cleared, 0, kernel.scratch))
      throw InputError(items + "byte " + std::to_string(*at) + " of its scratch, which has " +
                       std::to_string(kernel.scratch) + " bytes");
  }

  const LoneKernel &kernel;
  llmc_kernel_fn function = nullptr;
  llmc_batch batch{};
  int32_t zeros[rows] = {}, ascending[rows] = {}, bounds[2] = {0, rows};
  std::vector<Guarded> operands;
  Guarded scratch;
};

/// `work` in a process of its own, which leaves its message, if any, in `folder`. Throws
/// InputError with that, and where the process dies or takes too long.
void inChild(const fs::path &folder, const std::function<void()> &work) {
  pid_t child = ::fork();
  if (child == 0) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
      std::signal(signal, SIG_DFL);
    ::alarm(mostSeconds);
    std::string message;
    try {
      work();
    } catch (const std::exception &error) {
      message = error.what();
    }
    if (!message.empty())
      std::ofstream(folder / messageFile) << message;
    ::_exit(message.empty() ? 0 : 1);
  }
  if (child < 0)
    throw InputError(std::string("no process can be started: ") + std::strerror(errno));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw InputError(std::string("the process is lost: ") + std::strerror(errno));
  if (WIFSIGNALED(status))
    throw InputError(WTERMSIG(status) == SIGALRM
                         ? "it did not end within " + std::to_string(mostSeconds) + " seconds"
                         : std::string("it dies when it runs: ") + ::strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status)) {
    std::string message;
    std::getline(std::ifstream(folder / messageFile), message, '\0');
    throw InputError(message.empty() ? "it stops when it runs" : message);
  }
}

} // namespace

ProgramRun executeArtifact(const fs::path &artifact, llvm::ArrayRef<NamedStep> steps,
                           unsigned threads) {
  inChild(artifact, [&] { Child(artifact, steps, threads).run(); });
  return readTensors(artifact / resultFile, steps);
}

void requireConfined(const fs::path &kernels, const LoneKernel &kernel) {
  inChild(kernels.parent_path(), [&] { LoneRun(kernels, kernel).run(); });
}

} // namespace llmc
