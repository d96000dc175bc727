//===- Pages.cpp - completions and manual pages of llmc -------------------===//
//
// The command line is defined once, with CLI11; these walk over it.
//
//===----------------------------------------------------------------------===//

#include "Pages.h"
#include "llmc/Runtime/llmc.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace llmc {
namespace {

using Options = std::vector<const CLI::Option *>;

/// Of an application and its groups; positional ones as well.
Options optionsOf(const CLI::App &app) {
  Options options = app.get_options();
  for (const CLI::App *group : app.get_subcommands({}))
    if (group->get_name().empty()) {
      Options inner = optionsOf(*group);
      options.insert(options.end(), inner.begin(), inner.end());
    }
  return options;
}

std::vector<const CLI::App *> commandsOf(const CLI::App &app) {
  std::vector<const CLI::App *> commands;
  for (const CLI::App *command : app.get_subcommands({}))
    if (!command->get_name().empty())
      commands.push_back(command);
  return commands;
}

/// "-p", "--prompt"
std::vector<std::string> namesOf(const CLI::Option &option) {
  std::vector<std::string> names;
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

bool takesValue(const CLI::Option &option) { return option.get_items_expected_max() > 0; }

/// What CLI::IsMember allows; it is part of the type's name: TEXT:{a,b}.
std::vector<std::string> choicesOf(const CLI::Option &option) {
  std::string type = option.get_type_name();
  size_t begin = type.find('{'), end = type.rfind('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return choices;
  for (const std::string &choice : CLI::detail::split(type.substr(begin + 1, end - begin - 1), ','))
    choices.push_back(choice);
  return choices;
}

std::string joined(const std::vector<std::string> &parts, const std::string &by) {
  std::string out;
  for (const std::string &part : parts)
    out += (out.empty() ? "" : by) + part;
  return out;
}

/// Within single quotes of a shell.
std::string quoted(const std::string &text) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bashScript(const CLI::App &app) {
  std::string words, valued, cases;
  for (const CLI::App *command : commandsOf(app)) {
    std::string flags;
    for (const CLI::Option *option : optionsOf(*command)) {
      flags += (flags.empty() ? "" : " ") + joined(namesOf(*option), " ");
      std::vector<std::string> choices = choicesOf(*option);
      if (!choices.empty())
        valued += "    " + command->get_name() + ":" +
                  joined(namesOf(*option), "|" + command->get_name() + ":") +
                  ") COMPREPLY=($(compgen -W \"" + joined(choices, " ") +
                  "\" -- \"$current\")); return ;;\n";
    }
    words += (words.empty() ? "" : " ") + command->get_name();
    cases += "    " + command->get_name() + ") flags=\"" + flags + "\" ;;\n";
  }
  std::string flags;
  for (const CLI::Option *option : optionsOf(app))
    flags += (flags.empty() ? "" : " ") + joined(namesOf(*option), " ");
  return "# bash completion of llmc; made by llmc --completion bash\n"
         "_llmc() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local command=\"${COMP_WORDS[1]}\" flags=\"" +
         flags +
         "\"\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         words +
         " $flags\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$command:$before\" in\n" +
         valued +
         "  esac\n"
         "  case \"$command\" in\n" +
         cases +
         "  esac\n"
         "  if [[ \"$current\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _llmc llmc\n";
}

/// One argument of _arguments: names, what it is, and where a value comes from.
std::string zshArguments(const CLI::App &app) {
  std::string out;
  for (const CLI::Option *option : optionsOf(app)) {
    std::vector<std::string> names = namesOf(*option), choices = choicesOf(*option);
    std::string text = option->get_description();
    for (size_t at = 0; (at = text.find_first_of("[]:\\", at)) != std::string::npos; at += 2)
      text.insert(at, "\\");
    std::string value = !takesValue(*option) ? ""
                        : choices.empty()    ? ":value:_files"
                                             : ":value:(" + joined(choices, " ") + ")";
    for (const std::string &name : names)
      out += " \\\n      " + quoted("*" + name + "[" + text + "]" + value);
  }
  return out;
}

std::string zshScript(const CLI::App &app) {
  std::string names, cases;
  for (const CLI::App *command : commandsOf(app)) {
    names += "    " + quoted(command->get_name() + ":" + command->get_description()) + "\n";
    cases += "  " + command->get_name() + ")\n    _arguments" + zshArguments(*command) +
             " \\\n      '*:file:_files'\n    ;;\n";
  }
  return "#compdef llmc\n# zsh completion of llmc; made by llmc --completion zsh\n"
         "local -a commands\ncommands=(\n" +
         names +
         ")\nif (( CURRENT == 2 )); then\n  _describe command commands\n  _arguments" +
         zshArguments(app) +
         "\n  return\nfi\nlocal command=$words[2]\nshift words\n(( CURRENT-- ))\n"
         "case $command in\n" +
         cases + "esac\n";
}

std::string fishScript(const CLI::App &app) {
  std::string out = "# fish completion of llmc; made by llmc --completion fish\n";
  auto add = [&](const CLI::App &command, const std::string &condition) {
    for (const CLI::Option *option : optionsOf(command)) {
      if (namesOf(*option).empty())
        continue;
      out += "complete -c llmc -n " + quoted(condition);
      for (const std::string &name : option->get_snames())
        out += " -s " + name;
      for (const std::string &name : option->get_lnames())
        out += " -l " + name;
      std::vector<std::string> choices = choicesOf(*option);
      if (takesValue(*option))
        out += choices.empty() ? " -r" : " -x -a " + quoted(joined(choices, " "));
      out += " -d " + quoted(option->get_description()) + "\n";
    }
  };
  for (const CLI::App *command : commandsOf(app))
    out += "complete -c llmc -f -n __fish_use_subcommand -a " + command->get_name() + " -d " +
           quoted(command->get_description()) + "\n";
  add(app, "__fish_use_subcommand");
  for (const CLI::App *command : commandsOf(app))
    add(*command, "__fish_seen_subcommand_from " + command->get_name());
  return out;
}

/// How the compiler's own program differs from the command of llmc.
constexpr char optText[] =
    "--help-compile prints these options. With a .mlir file and neither --target nor --emit it runs "
    "passes and pipelines on IR instead, as mlir-opt does; --help lists those. --list-generators, "
    "--list-fusions, --list-predicates and --list-phases, each with --json, print what there is.\n";

/// Text of a manual page: what troff would read as a command does not begin a line.
std::string troff(const std::string &text) {
  std::string out;
  bool lineStart = true;
  for (char c : text) {
    if (lineStart && (c == '.' || c == '\''))
      out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    lineStart = c == '\n';
  }
  return out;
}

/// `program`: that of the command where it is one by itself, too.
std::string manualPage(const CLI::App &app, const CLI::App *command,
                       const std::string &program = "") {
  const CLI::App &subject = command ? *command : app;
  std::string name = !program.empty() ? program
                     : command        ? "llmc-" + command->get_name()
                                      : "llmc";
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), ::toupper);
  std::string summary = command ? command->get_description() : "from a model to an artifact that runs";
  std::string out = ".TH " + title + " 1 \"\" \"llmc " + llmc_version_string() + "\" \"llmc\"\n";
  out += ".SH NAME\n" + troff(name) + " \\- " + troff(summary) + "\n.SH SYNOPSIS\n.B " +
         (program.empty() ? "llmc" : troff(program));
  if (command && program.empty())
    out += " " + command->get_name();
  out += "\n";
  Options positional, flags;
  for (const CLI::Option *option : optionsOf(subject))
    (namesOf(*option).empty() ? positional : flags).push_back(option);
  for (const CLI::Option *option : positional)
    out += "\\fI" + troff(option->get_name()) + "\\fR\n";
  out += command ? "[options]\n" : "\\fIcommand\\fR [options]\n";
  out += ".SH DESCRIPTION\n" + troff(subject.get_description()) + ".\n";
  if (!program.empty())
    out += "The same as llmc " + command->get_name() + ".\n" + troff(optText);
  if (!command) {
    out += ".SH COMMANDS\n";
    for (const CLI::App *other : commandsOf(app))
      out += ".TP\n.BR llmc\\-" + troff(other->get_name()) + " (1)\n" +
             troff(other->get_description()) + "\n";
  }
  if (!positional.empty()) {
    out += ".SH ARGUMENTS\n";
    for (const CLI::Option *option : positional)
      out += ".TP\n.I " + troff(option->get_name()) + "\n" + troff(option->get_description()) + "\n";
  }
  out += ".SH OPTIONS\n";
  for (const CLI::Option *option : flags) {
    std::string names = joined(namesOf(*option), ", ");
    std::vector<std::string> choices = choicesOf(*option);
    out += ".TP\n\\fB" + troff(names) + "\\fR";
    if (takesValue(*option))
      out += " \\fI" + troff(choices.empty() ? "VALUE" : joined(choices, "|")) + "\\fR";
    out += "\n" + troff(option->get_description());
    if (!option->get_default_str().empty())
      out += " (default: " + troff(option->get_default_str()) + ")";
    out += "\n";
  }
  out += ".SH EXIT STATUS\n0 yes, 1 the model or input is at fault, 2 the command line is, 3 llmc "
         "is.\n.SH SEE ALSO\n";
  std::string also = command ? ".BR llmc (1)" : "";
  for (const CLI::App *other : commandsOf(app))
    if (other != command)
      also += (also.empty() ? ".BR llmc\\-" : ",\n.BR llmc\\-") + troff(other->get_name()) + " (1)";
  return out + also + "\n";
}

void writePage(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw InputError(path.string() + ": cannot be written");
}

} // namespace

std::string completionScript(const CLI::App &app, const std::string &shell) {
  if (shell == "bash")
    return bashScript(app);
  if (shell == "zsh")
    return zshScript(app);
  if (shell == "fish")
    return fishScript(app);
  throw UsageError("--completion " + shell + ": is none of bash, zsh and fish");
}

void writePages(const CLI::App &app, const std::string &folder) {
  std::error_code error;
  std::filesystem::path root(folder);
  std::filesystem::create_directories(root, error);
  if (error)
    throw InputError(folder + ": cannot be made (" + error.message() + ")");
  writePage(root / "llmc.1", manualPage(app, nullptr));
  for (const CLI::App *command : commandsOf(app)) {
    writePage(root / ("llmc-" + command->get_name() + ".1"), manualPage(app, command));
    if (command->get_name() == "compile")
      writePage(root / "llmc-opt.1", manualPage(app, command, "llmc-opt"));
  }
  writePage(root / "llmc", bashScript(app));
  writePage(root / "_llmc", zshScript(app));
  writePage(root / "llmc.fish", fishScript(app));
}

} // namespace llmc
