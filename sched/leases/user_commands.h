// What a command of the user changes in the records of a lease table, and when it is refused. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "sched/leases/lease_command.h"
#include "sched/leases/lease_record.h"

namespace optile::sched {

// kInvalid unless it is between 0.001 and 1000.
base::Status check_weight(double weight);

// Of a client that is in the records and not detached. For the reasons of others: what was done.
// Nothing is changed where it is refused.
base::Result<std::string> carry_out(const LeaseCommand& command, const LeaseResources& resources,
                                    LeaseRecords& records);

}  // namespace optile::sched
