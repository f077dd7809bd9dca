#include "perfmodel/synthetic/op_law.h"

namespace optile::perfmodel {

ConfigurationTimes law_times(const OpLaw& law, const Machine& machine) {
  ConfigurationTimes times;
  for (const Configuration at : case_space(machine).all()) {
    times.set(at, law.serial + law.parallel / at.width + law.per_thread * at.width);
  }
  return times;
}

}  // namespace optile::perfmodel
