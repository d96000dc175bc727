//===- CheckDevice.cpp - llmc check-device: does a device plug-in work? ----===//
#include "Commands.h"

#include "llmc/Runtime/Device.h"
#include "llmc/Runtime/DeviceCheck.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

namespace llmc {

void addCheckDeviceCommand(CLI::App &app, int &exitCode) {
  struct Arguments {
    std::string plugin;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = app.add_subcommand(
      "check-device", "Does a device plug-in keep the contract of its functions? (exit 0: yes)");
  command
      ->add_option("plugin", arguments->plugin,
                   "Shared object with a device, or cpu: the one that is built in")
      ->required()
      ->check(CLI::Validator(
          [](const std::string &name) {
            return name.empty() ? "the name of the shared object is empty" : std::string();
          },
          ""));
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Extending.md)");
  command->callback([arguments, &exitCode] {
    const llmc_device_api *api = arguments->plugin == "cpu"
                                     ? rt::cpuDevice()
                                     : rt::loadDevicePlugin(arguments->plugin);
    size_t problems = 0;
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    std::vector<rt::DeviceCheck> checks = rt::checkDevice(*api);
    for (const rt::DeviceCheck &check : checks) {
      problems += !check.problem.empty();
      list.push_back({{"check", check.name}, {"problem", check.problem}});
      if (!arguments->json && !check.problem.empty())
        std::cout << api->name << ": " << check.name << ": " << check.problem << "\n";
    }
    if (arguments->json)
      std::cout << nlohmann::ordered_json{{"device", api->name}, {"checks", list}}.dump(2) << "\n";
    else
      std::cout << api->name << ": " << checks.size() - problems << " checks passed"
                << (problems ? ", " + std::to_string(problems) + " failed" : "") << "\n";
    exitCode = problems ? 1 : 0;
  });
}

} // namespace llmc
