//===- Requests.cpp - JSON lines in and out -------------------------------===//

#include "Requests.h"
#include "llmc/Runtime/LeftOut.h"
#include "llmc/Support/JsonError.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <memory>
#include <poll.h>
#include <set>
#include <unistd.h>

using nlohmann::json;
using nlohmann::ordered_json;

namespace llmc {

/// The object of --template-args or "template_args".
static void checkVariables(const ordered_json &variables, const std::string &where) {
  if (!variables.is_object())
    throw UsageError(where + " is " + std::string(variables.type_name()) +
                     ", wanted a JSON object, such as {\"enable_thinking\": false}");
  for (const char *own : {"messages", "tools", "add_generation_prompt"})
    if (variables.contains(own))
      throw UsageError(where + " has \"" + own + "\", which a request says itself");
}

void TemplateFlags::add(CLI::App &command) {
  command.add_option("--chat-template", file,
                     "File with a Jinja template that takes the place of the model's");
  command.add_option("--template-args", argumentsText,
                     "Variables for the chat template, a JSON object such as "
                     "{\"enable_thinking\": false}");
}

void TemplateFlags::read() {
  if (!argumentsText.empty()) {
    try {
      options.variables = ordered_json::parse(argumentsText);
    } catch (const json::exception &error) {
      throw UsageError(std::string("--template-args is no JSON object such as "
                                   "{\"enable_thinking\": false}: ") +
                       jsonErrorText(error));
    }
    checkVariables(options.variables, "--template-args");
  }
  if (file.empty())
    return;
  options.chatTemplate = readTextFile(file);
  if (options.chatTemplate->empty())
    throw InputError(file + ": is empty, wanted a chat template");
  try {
    rt::ChatTemplate parsed(*options.chatTemplate);
  } catch (const InputError &error) {
    throw InputError(file + ": " + error.what());
  }
}

std::vector<int32_t> promptTokens(const rt::Artifact &artifact, const std::string &text,
                                  const PromptOptions &options) {
  const rt::Tokenizer &tokenizer = artifact.tokenizer();
  bool raw = options.raw;
  // Of a template that was left out, the reason is an error: taking the prompt as it is would
  // not be what the model was made for.
  bool leftOut = !artifact.whyLeftOut(rt::leftOutChatTemplate).empty();
  if (!raw && !leftOut && tokenizer.spec().chatTemplate.empty() && !options.chat.chatTemplate) {
    if (!options.system.empty())
      throw UsageError("--system: the model has no chat template to put it into");
    if (!options.chat.variables.is_null())
      throw UsageError("--template-args: the model has no chat template to give them to");
    static bool said = false;
    if (!std::exchange(said, true))
      std::cerr << "llmc: note: the model has no chat template; prompts are taken as they are "
                   "(as with --raw)\n";
    raw = true;
  }
  if (raw)
    return tokenizer.encode(text, {.addSpecial = true, .parseSpecial = options.parseSpecial});
  if (options.parseSpecial)
    throw UsageError("--parse-special is for prompts without the chat template; add --raw");
  ordered_json messages = ordered_json::array();
  if (!options.system.empty())
    messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return rt::encodeChat(artifact, messages, options.chat);
}

static json probabilityJson(const rt::Artifact &artifact, int32_t id, double logprob) {
  json value = {{"id", id}, {"logprob", logprob}};
  if (artifact.hasTokenizer()) {
    // A token may hold part of a character: its bytes say what the text cannot.
    std::string bytes = artifact.tokenizer().tokenText(id);
    value["text"] = bytes;
    value["bytes"] = std::vector<uint8_t>(bytes.begin(), bytes.end());
  }
  return value;
}

static json scoresJson(const rt::Artifact &artifact, const std::vector<rt::TokenScore> &scores) {
  json list = json::array();
  for (const rt::TokenScore &score : scores) {
    json value = probabilityJson(artifact, score.id, score.logprob);
    value["top"] = json::array();
    for (const rt::TokenProbability &other : score.top)
      value["top"].push_back(probabilityJson(artifact, other.id, other.logprob));
    list.push_back(std::move(value));
  }
  return list;
}

json resultJson(const rt::Artifact &artifact, const std::vector<int32_t> &prompt,
                const rt::GenerateResult &result) {
  json value = {{"prompt_tokens", prompt},
                {"tokens", result.tokens},
                {"text", result.text},
                {"finish", rt::finishReasonName(result.finish)}};
  if (!result.scores.empty())
    value["logprobs"] = scoresJson(artifact, result.scores);
  if (!result.promptScores.empty())
    value["prompt_logprobs"] = scoresJson(artifact, result.promptScores);
  return value;
}

namespace {

constexpr size_t longestLine = size_t(64) << 20;

/// Lines of a file or pipe. A request that runs need not wait for the next one.
class LineReader {
public:
  explicit LineReader(const std::string &file) : name(file == "-" ? "standard input" : file) {
    descriptor = file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
      throw InputError(name + ": cannot be read (" + std::strerror(errno) + ")");
    ownsDescriptor = file != "-";
  }
  ~LineReader() {
    if (ownsDescriptor)
      close(descriptor);
  }
  LineReader(const LineReader &) = delete;
  LineReader &operator=(const LineReader &) = delete;

  /// Nothing where the input has ended or, without \p wait, has no line yet.
  std::optional<std::string> next(bool wait) {
    while (true) {
      size_t end = buffer.find('\n', searched);
      if (end != std::string::npos || (ended && !buffer.empty())) {
        size_t length = std::min(end, buffer.size());
        std::string line = buffer.substr(0, length);
        buffer.erase(0, std::min(length + 1, buffer.size()));
        searched = 0;
        ++number;
        return line;
      }
      if (ended)
        return std::nullopt;
      searched = buffer.size();
      if (buffer.size() > longestLine)
        throw InputError(name + ": line " + std::to_string(number + 1) + " has more than " +
                         std::to_string(longestLine >> 20) + " MiB");
      pollfd ready = {descriptor, POLLIN, 0};
      if (!wait && poll(&ready, 1, 0) <= 0)
        return std::nullopt;
      char part[1 << 16];
      ssize_t got = read(descriptor, part, sizeof part);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        throw InputError(name + ": cannot be read (" + std::strerror(errno) + ")");
      ended = got == 0;
      buffer.append(part, size_t(got));
    }
  }
  bool done() const { return ended && buffer.empty(); }
  int64_t lineNumber() const { return number; }

private:
  std::string name, buffer;
  int descriptor;
  bool ownsDescriptor = false, ended = false;
  size_t searched = 0;
  int64_t number = 0;
};

struct LineRequest {
  json id; ///< as it was given; null: none
  std::vector<int32_t> prompt;
  rt::GenerateOptions options;
};

[[noreturn]] void failAt(const std::string &key, const std::string &what) {
  throw InputError("\"" + key + "\" " + what);
}

int64_t wholeNumber(const ordered_json &value, const std::string &key, int64_t least,
                    int64_t most) {
  bool fits = value.is_number_integer() &&
              !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX));
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
    failAt(key, "is " + value.dump() + ", wanted a whole number from " + std::to_string(least) +
                    " to " + std::to_string(most));
  return value.get<int64_t>();
}

double number(const ordered_json &value, const std::string &key) {
  if (!value.is_number())
    failAt(key, "is " + value.dump() + ", wanted a number");
  return value.get<double>();
}

bool truth(const ordered_json &value, const std::string &key) {
  if (!value.is_boolean())
    failAt(key, "is " + value.dump() + ", wanted true or false");
  return value.get<bool>();
}

std::string text(const ordered_json &value, const std::string &key) {
  if (!value.is_string())
    failAt(key, "is " + value.dump() + ", wanted a string");
  return value.get<std::string>();
}

/// Everything but the prompt.
bool readOption(const std::string &key, const ordered_json &value, rt::GenerateOptions &options) {
  rt::SamplerOptions &sampler = options.sampler;
  constexpr int64_t many = int64_t(1) << 31;
  if (key == "max_tokens")
    options.maxTokens = wholeNumber(value, key, 0, many);
  else if (key == "ignore_eos")
    options.ignoreEnd = truth(value, key);
  else if (key == "temperature")
    sampler.temperature = number(value, key);
  else if (key == "top_k")
    sampler.topK = int32_t(wholeNumber(value, key, 0, INT32_MAX));
  else if (key == "top_p")
    sampler.topP = number(value, key);
  else if (key == "min_p")
    sampler.minP = number(value, key);
  else if (key == "repeat_penalty")
    sampler.repetitionPenalty = number(value, key);
  else if (key == "logprobs")
    options.logprobs = value.is_null() ? -1 : wholeNumber(value, key, 0, 1000);
  else if (key == "prompt_logprobs")
    options.promptLogprobs = truth(value, key);
  else if (key == "seed" && value.is_number_unsigned())
    sampler.seed = value.get<uint64_t>();
  else if (key == "seed")
    failAt(key, "is " + value.dump() + ", wanted a whole number from 0 to 2^64 - 1");
  else
    return false;
  return true;
}

/// A prompt that is token ids already.
std::vector<int32_t> idsOf(const ordered_json &list, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (const ordered_json &id : list)
    ids.push_back(int32_t(wholeNumber(id, "prompt", 0, vocabulary - 1)));
  return ids;
}

/// The messages with content that is a list of texts as one text, a line each: most templates
/// know texts only. A list with anything else is for the template as it is.
ordered_json messagesOf(const ordered_json &given) {
  if (!given.is_array())
    failAt("messages", "is " + std::string(given.type_name()) + ", wanted a list");
  if (given.empty())
    failAt("messages", "is an empty list, wanted at least one message");
  ordered_json messages = given;
  for (ordered_json &message : messages) {
    auto content = message.is_object() ? message.find("content") : message.end();
    if (content == message.end() || !content->is_array() || content->empty())
      continue;
    std::string joined;
    bool texts = true;
    for (const ordered_json &part : *content) {
      texts = texts && part.is_object() && part.value("type", ordered_json()) == "text" &&
              part.contains("text") && part["text"].is_string();
      if (texts)
        joined += (&part == &content->front() ? "" : "\n") + part["text"].get<std::string>();
    }
    if (texts)
      *content = joined;
  }
  return messages;
}

/// Refuses an object with a key twice, of which the library would take one.
ordered_json::parser_callback_t refuseRepeatedKeys() {
  auto open = std::make_shared<std::vector<std::set<std::string>>>();
  return [open](int, json::parse_event_t event, ordered_json &parsed) {
    if (event == json::parse_event_t::object_start)
      open->emplace_back();
    else if (event == json::parse_event_t::object_end)
      open->pop_back();
    else if (event == json::parse_event_t::key && !open->back().insert(parsed.get<std::string>()).second)
      failAt(parsed.get<std::string>(), "stands twice in one object");
    return true;
  };
}

LineRequest readRequest(const std::string &line, const JsonLines &arguments,
                        const rt::Artifact &artifact, json &id) {
  ordered_json object;
  try {
    object = ordered_json::parse(line, refuseRepeatedKeys());
  } catch (const json::exception &error) {
    throw InputError("is no JSON: " + jsonErrorText(error));
  }
  if (!object.is_object())
    throw InputError("is " + std::string(object.type_name()) + ", wanted a JSON object");
  if (object.contains("id"))
    id = json::parse(object["id"].dump());
  LineRequest request{id, {}, arguments.defaults};
  PromptOptions prompt = arguments.prompt;
  for (const auto &[key, value] : object.items()) {
    if (key == "id" || key == "prompt" || key == "messages" || key == "tools")
      continue;
    if (key == "system") {
      prompt.system = text(value, key);
    } else if (key == "raw") {
      prompt.raw = truth(value, key);
    } else if (key == "parse_special") {
      prompt.parseSpecial = truth(value, key);
    } else if (key == "template_args") {
      checkVariables(value, "\"template_args\"");
      prompt.chat.variables = value;
    } else if (key == "stop") {
      request.options.stop.clear();
      for (const ordered_json &one : value.is_array() ? value : ordered_json::array({value}))
        request.options.stop.push_back(text(one, key));
    } else if (!readOption(key, value, request.options)) {
      failAt(key, "is no key of a request; docs/Runtime.md lists them");
    }
  }
  request.options.sampler.validate();
  auto isSet = [&](const char *key) { return object.contains(key) && object[key] != false; };
  for (const char *key : {"system", "template_args"})
    if (isSet("raw") && isSet(key))
      failAt(key, "is for the chat template; with \"raw\" there is none");
  if (object.contains("prompt") == object.contains("messages"))
    throw InputError("wanted one of \"prompt\" and \"messages\"");
  if (object.contains("prompt")) {
    if (object.contains("tools"))
      failAt("tools", "goes with \"messages\"");
    const ordered_json &given = object["prompt"];
    if (given.is_array()) {
      for (const char *key : {"system", "parse_special", "template_args"})
        if (isSet(key))
          failAt(key, "is for a text; \"prompt\" is a list of token ids");
      request.prompt = idsOf(given, artifact.manifest().model.vocabSize);
    } else if (given.is_string()) {
      request.prompt = promptTokens(artifact, given.get<std::string>(), prompt);
    } else {
      failAt("prompt", "is " + given.dump() + ", wanted a string or a list of token ids");
    }
  } else {
    for (const char *key : {"system", "raw", "parse_special"})
      if (isSet(key))
        failAt(key, "goes with \"prompt\"");
    if (object.contains("tools"))
      prompt.chat.tools = object["tools"];
    request.prompt = rt::encodeChat(artifact, messagesOf(object["messages"]), prompt.chat);
  }
  return request;
}

void printLine(const json &value) {
  std::cout << value.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  checkOutput();
}

} // namespace

int64_t runJsonLines(const JsonLines &arguments, rt::Session &session) {
  const rt::Artifact &artifact = session.artifact();
  LineReader reader(arguments.file);
  rt::BatchGenerator batch(session);
  int64_t faults = 0;
  auto fault = [&](int64_t line, const json &id, const std::string &message) {
    ++faults;
    json value = {{"line", line}, {"error", message}};
    if (!id.is_null())
      value["id"] = id;
    printLine(value);
  };
  auto submit = [&](const std::string &line) {
    int64_t at = reader.lineNumber();
    json id;
    try {
      LineRequest request = readRequest(line, arguments, artifact, id);
      auto prompt = request.prompt;
      batch.submit(prompt, request.options,
                   [&, at, id, prompt](const rt::GenerateResult &result,
                                       const std::exception_ptr &error) {
                     try {
                       if (error)
                         std::rethrow_exception(error);
                       json value = resultJson(artifact, prompt, result);
                       value["line"] = at;
                       value["timing"] = timingJson(result.timing);
                       if (!id.is_null())
                         value["id"] = id;
                       printLine(value);
                     } catch (const InputError &reason) {
                       if (!error)
                         throw;
                       fault(at, id, reason.what());
                     }
                   });
    } catch (const InputError &error) {
      fault(at, id, error.what());
    } catch (const UsageError &error) { // of a sampler option
      fault(at, id, error.what());
    }
  };
  // Twice what runs at once: the next request is there when one ends.
  int64_t most = 2 * session.maxSequences();
  InterruptScope interrupt(session);
  while (true) {
    while (batch.pending() < most) {
      std::optional<std::string> line = reader.next(/*wait=*/batch.pending() == 0);
      if (!line)
        break;
      if (line->find_first_not_of(" \t\r") != std::string::npos)
        submit(*line);
    }
    if (batch.pending() == 0 && reader.done())
      return faults;
    batch.step();
  }
}

} // namespace llmc
