#include "placement/import/traced_ops.h"

#include <cmath>
#include <unordered_set>

#include "placement/graph.h"
#include "placement/import/json_reader.h"

namespace optile::placement {
namespace {

constexpr double kMostId = 9e18;
constexpr std::size_t kTensorFields = 5;  // tensor, storage, offset, values, bytes of a value

bool is_id(const Json& json) {
  return json.is_number_integer() && json.get<double>() >= 0 && json.get<double>() < kMostId;
}

class TracedOpsReader {
 public:
  base::Result<std::vector<TracedOp>> read(const Json& file) {
    const Json& nodes = reader_.list(file, "nodes", "the file");
    if (nodes.size() > kMaxNodes) reader_.fail("nodes", "there are too many");
    std::vector<TracedOp> ops;
    std::unordered_set<long long> ids;
    for (std::size_t i = 0; i < nodes.size() && reader_.ok(); ++i) {
      ops.push_back(read_op(nodes[i], place_in("nodes", i)));
      if (reader_.ok() && !ids.insert(ops.back().id).second) {
        reader_.fail(ops.back().where + ".id",
                     "there is another node " + std::to_string(ops.back().id));
      }
    }
    if (!reader_.ok()) return reader_.error();
    return ops;
  }

 private:
  TracedOp read_op(const Json& json, const std::string& where) {
    TracedOp op;
    op.where = where;
    op.id = id(json, "id", where);
    const Json& name = reader_.member(json, "name", where);
    if (!reader_.ok()) return op;
    if (!name.is_string()) reader_.fail(where + ".name", "a text is expected");
    const bool flat = json.contains("parent");
    op.caller = id(json, flat ? "parent" : "ctrl_deps", where);
    if (!reader_.ok()) return op;
    op.name = name.get<std::string>();
    if (flat) {
      read_side(json, {"inputs", "input_shapes", "input_types"}, where, where + ".inputs",
                op.inputs);
      read_side(json, {"outputs", "output_shapes", "output_types"}, where, where + ".outputs",
                op.outputs);
    } else {
      const Keys keys{"values", "shapes", "types"};
      read_side(reader_.member(json, "inputs", where), keys, where + ".inputs",
                where + ".inputs.values", op.inputs);
      read_side(reader_.member(json, "outputs", where), keys, where + ".outputs",
                where + ".outputs.values", op.outputs);
    }
    op.schema = schema(json, where);
    op.kernel = is_kernel(json);
    op.whole_ms = milliseconds(json, {"inclusive_dur", "dur"}, where);
    op.own_ms = milliseconds(json, {"exclusive_dur"}, where);
    return op;
  }

  long long id(const Json& json, const char* key, const std::string& where) {
    const Json& value = reader_.member(json, key, where);
    if (reader_.ok() && !is_id(value)) {
      reader_.fail(where + "." + key, "a whole number from 0 on is expected");
    }
    return reader_.ok() ? value.get<long long>() : 0;
  }

  std::string schema(const Json& json, const std::string& where) {
    std::string given = reader_.text_or(json, "op_schema", "", where);
    if (!given.empty() || !json.contains("attrs")) return given;
    for (const Json& attribute : reader_.list(json, "attrs", where)) {
      if (!attribute.is_object() || attribute.value("name", Json()) != "op_schema") continue;
      const auto value = attribute.find("value");
      const bool text = value != attribute.end() && value->is_string();
      return text ? value->get<std::string>() : "";
    }
    return "";
  }

  // As tools that join traces mark what ran on an accelerator.
  static bool is_kernel(const Json& json) {
    const auto stream = json.find("stream");
    const auto category = json.find("cat");
    return (stream != json.end() && stream->is_number()) ||
           (category != json.end() &&
            (*category == "kernel" || *category == "gpu_memcpy" || *category == "gpu_memset"));
  }

  // What tools add that join the trace with a profile, in microseconds: the first that is there.
  double milliseconds(const Json& json, std::initializer_list<const char*> keys,
                      const std::string& where) {
    for (const char* key : keys) {
      if (!reader_.ok() || json.value(key, Json()).is_null()) continue;
      const double us = reader_.number(json, key, where);
      if (us < 0) reader_.fail(where + "." + key, "it is negative");
      return us / 1e3;
    }
    return -1;
  }

  struct Keys {
    const char* values;
    const char* shapes;
    const char* types;
  };

  void read_side(const Json& json, const Keys& keys, const std::string& where,
                 const std::string& values_where, std::vector<TracedTensor>& tensors) {
    const Json& values = reader_.list(json, keys.values, where);
    const Json& shapes = reader_.list(json, keys.shapes, where);
    const Json& types = reader_.list(json, keys.types, where);
    if (!reader_.ok()) return;
    if (values.size() != types.size() || values.size() != shapes.size()) {
      reader_.fail(values_where, "there are " + std::to_string(values.size()) + " values, " +
                                     std::to_string(shapes.size()) + " shapes and " +
                                     std::to_string(types.size()) + " types");
      return;
    }
    for (std::size_t i = 0; i < values.size() && reader_.ok(); ++i) {
      if (!types[i].is_string()) {
        reader_.fail(where + "." + place_in(keys.types, i), "a text is expected");
        return;
      }
      const std::string type = types[i].get<std::string>();
      if (type.starts_with("Tensor(")) {
        read_tensor(values[i], shapes[i], place_in(values_where, i), tensors);
      } else if (type.find("Tensor(") != std::string::npos && values[i].is_array()) {
        read_list(values[i], shapes[i], place_in(values_where, i), tensors);
      }
    }
  }

  // Of a list with something else among its tensors, that is left out.
  void read_list(const Json& values, const Json& shapes, const std::string& where,
                 std::vector<TracedTensor>& tensors) {
    for (std::size_t i = 0; i < values.size() && reader_.ok(); ++i) {
      if (!values[i].is_array() || values[i].size() < kTensorFields) continue;
      const bool shaped = shapes.is_array() && i < shapes.size();
      read_tensor(values[i], shaped ? shapes[i] : Json(), place_in(where, i), tensors);
    }
  }

  void read_tensor(const Json& value, const Json& shape, const std::string& where,
                   std::vector<TracedTensor>& tensors) {
    bool good = value.is_array() && value.size() >= kTensorFields;
    for (std::size_t i = 0; good && i < kTensorFields; ++i) good = is_id(value[i]);
    if (!good) {
      reader_.fail(where, "a tensor is written [number, storage, offset, values, bytes of each]");
      return;
    }
    TracedTensor tensor;
    tensor.tensor = value[0].get<long long>();
    tensor.storage = value[1].get<long long>();
    tensor.values = value[3].get<double>();
    tensor.value_bytes = value[4].get<double>();
    for (const Json& extent : shape.is_array() ? shape : Json::array()) {
      if (!is_id(extent)) break;
      tensor.shape.push_back(extent.get<double>());
    }
    if (tensor.values > 0) tensors.push_back(std::move(tensor));
  }

  JsonReader reader_;
};

}  // namespace

base::Result<std::vector<TracedOp>> read_traced_ops(const Json& file) {
  return TracedOpsReader().read(file);
}

}  // namespace optile::placement
