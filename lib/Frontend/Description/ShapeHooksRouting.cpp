//===- ShapeHooksRouting.cpp - routers and experts ------------------------===//
#include "ShapeHooks.h"

#include "llmc/Frontend/RouteSettings.h"

namespace llmc::frontend {

std::vector<Value> ShapeHooks::route(const OpCall &call) {
  int64_t experts = width(call, 0);
  RouteSettings settings = routeSettings(call, experts);
  for (const auto &[weight, name] : {std::pair(settings.bias, "bias"),
                                     std::pair(settings.expertScale, "expert_scale")})
    if (weight && model.families[weight->family].shape != Shape{experts})
      opError(call, std::string("'") + name + "' of shape " +
                        shapeText(model.families[weight->family].shape) + " is not one for each of " +
                        std::to_string(experts) + " experts");
  if (settings.table) {
    const Shape &table = model.families[settings.table->family].shape;
    if (table.size() != 2 || table[1] != settings.top)
      opError(call, "the table of shape " + shapeText(table) + " has no row of " +
                        std::to_string(settings.top) + " experts for each token");
    if (settings.bias || settings.groups)
      opError(call, "a table leaves nothing to choose by 'bias' or 'groups'");
  }
  Value choice = make({settings.top});
  expertsOf[choice.get<Handle>()->id] = experts;
  return {choice, make({settings.top})};
}

std::vector<Value> ShapeHooks::expertLinear(const OpCall &call) {
  Shape in = shape(call, 0);
  auto choice = expertsOf.find(handleArg(call, 1).id);
  if (choice == expertsOf.end())
    opError(call, "argument 2 must be the choice of a route");
  int64_t chosen = shape(call, 1)[0], experts = choice->second;
  if (in.empty() || in.size() > 2 || (in.size() == 2 && in[0] != chosen))
    opError(call, "the input of " + shapeText(in) + " a token is neither one vector nor one for "
                      "each of the " + std::to_string(chosen) + " chosen experts");
  if (call.args.size() < 3)
    opError(call, "needs at least one weight");
  std::vector<Value> results;
  for (size_t i = 2; i < call.args.size(); ++i) {
    const WeightRef &ref = weightArg(call, i);
    const Shape &weight = model.families[ref.family].shape;
    if (weight.size() != 3 || weight[2] != in.back())
      opError(call, "weight '" + ref.role + "' of shape " + shapeText(weight) +
                        " does not fit an input of " + std::to_string(in.back()));
    if (weight[0] != experts)
      opError(call, "weight '" + ref.role + "' has " + std::to_string(weight[0]) +
                        " experts, the router chooses from " + std::to_string(experts));
    if (ref.biasFamily >= 0) {
      const Shape &bias = model.families[size_t(ref.biasFamily)].shape;
      if (bias != Shape{weight[0], weight[1]})
        opError(call, "the bias of '" + ref.role + "' of shape " + shapeText(bias) +
                          " does not fit its weight " + shapeText(weight));
      expertUses[uint32_t(ref.biasFamily)] = chosen;
    }
    expertUses[ref.family] = chosen;
    results.push_back(make({chosen, weight[1]}));
  }
  return results;
}

Value ShapeHooks::expertSum(const OpCall &call) {
  needHeads(call, 0);
  Shape in = shape(call, 0);
  if (call.args.size() > 2)
    opError(call, "needs a vector for each chosen expert and, where they count differently, their "
                  "weights");
  if (call.args.size() == 2 && shape(call, 1) != Shape{in[0]})
    opError(call, "weights of " + shapeText(shape(call, 1)) + " a token do not fit " +
                      std::to_string(in[0]) + " chosen experts");
  return make({in[1]});
}

Value ShapeHooks::expertSpread(const OpCall &call) {
  int64_t in = width(call, 0), chosen = width(call, 1);
  return make({chosen, in});
}

} // namespace llmc::frontend
