# The bridge to PyTorch as text inside optile, so that an installed one can build it for a wheel,
# and the key that names what was built from it.
set(OPTILE_BRIDGE_SOURCES
  base/hash.h bindings/abi/layout.h bindings/abi/limits.h bindings/preload/probe.h
  bindings/preload/torch/op_key.cc bindings/preload/torch/op_key.h
  bindings/preload/torch/torch_bridge.cc)

function(optile_write_if_changed path text)
  set(before "")
  if(EXISTS "${path}")
    file(READ "${path}" before)
  endif()
  if(NOT "${before}" STREQUAL "${text}")
    file(WRITE "${path}" "${text}")
  endif()
endfunction()

function(optile_embed_bridge)
  set(list "")
  set(digests "")
  foreach(source ${OPTILE_BRIDGE_SOURCES})
    set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 "${CMAKE_SOURCE_DIR}/${source}")
    file(READ "${CMAKE_SOURCE_DIR}/${source}" text)
    string(SHA256 digest "${text}")
    string(APPEND digests "${source} ${digest}\n")
    string(APPEND list "    {\"${source}\",\n     R\"optile_text(${text})optile_text\"},\n")
  endforeach()
  string(SHA256 key "${digests}")
  string(SUBSTRING "${key}" 0 16 key)
  optile_write_if_changed("${CMAKE_BINARY_DIR}/generated/optile_bridge_key.h"
    "#pragma once\n\n#define OPTILE_BRIDGE_KEY \"${key}\"\n")
  optile_write_if_changed("${CMAKE_BINARY_DIR}/generated/bridge_sources.cc"
    "#include \"bindings/cli/bridge/bridge_sources.h\"

namespace optile::cli {

const std::vector<BridgeSource>& bridge_sources() {
  static const std::vector<BridgeSource> sources = {
${list}  };
  return sources;
}

}  // namespace optile::cli
")
endfunction()
optile_embed_bridge()
