//===- PlanExecution.cpp - steps of an artifact in another process --------===//
#include "PlanExecution.h"

#include "llmc/Runtime/Session.h"
#include "llmc/Support/Error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
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

[[noreturn]] void runChild(const fs::path &folder, llvm::ArrayRef<NamedStep> steps,
                           unsigned threads) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, SIG_DFL);
  ::alarm(mostSeconds);
  std::string message;
  try {
    Child(folder, steps, threads).run();
  } catch (const std::exception &error) {
    message = error.what();
  }
  if (!message.empty())
    std::ofstream(folder / messageFile) << message;
  ::_exit(message.empty() ? 0 : 1);
}

} // namespace

ProgramRun executeArtifact(const fs::path &artifact, llvm::ArrayRef<NamedStep> steps,
                           unsigned threads) {
  pid_t child = ::fork();
  if (child == 0)
    runChild(artifact, steps, threads);
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
    std::getline(std::ifstream(artifact / messageFile), message, '\0');
    throw InputError(message.empty() ? "it stops when it runs" : message);
  }
  return readTensors(artifact / resultFile, steps);
}

} // namespace llmc
