# The bridge to PyTorch as text inside optile, so that an installed one can build it for a wheel,
# and the key that names what was built from it.
set(OPTILE_BRIDGE_SOURCES
  bindings/preload/probes/torch/op_key.cc bindings/preload/probes/torch/torch_bridge.cc)

# `sources` and every header of ours that they include, and that those include.
function(optile_with_headers result sources)
  set(waiting ${sources})
  set(found "")
  while(waiting)
    list(POP_FRONT waiting source)
    if(source IN_LIST found OR NOT EXISTS "${CMAKE_SOURCE_DIR}/${source}")
      continue()
    endif()
    list(APPEND found "${source}")
    file(STRINGS "${CMAKE_SOURCE_DIR}/${source}" lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" header "${line}")
      list(APPEND waiting "${header}")
    endforeach()
  endwhile()
  list(SORT found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

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
  optile_with_headers(all "${OPTILE_BRIDGE_SOURCES}")
  foreach(source ${all})
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
