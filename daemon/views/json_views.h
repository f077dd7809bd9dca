// What the API says about clients, ops and the machine, as JSON. Pure; the daemon's one thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/client/client.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "tuner/session/session.h"

namespace optile::daemon {

using Json = nlohmann::json;

std::string hex_key(uint64_t key);
std::string op_id(const perfmodel::OpPlace& place);  // hex of key, or key-context
std::string iso_time(int64_t unix_seconds);          // UTC; null text ("") for 0
using perfmodel::seconds_of;
const char* rule_name(tuner::Rule rule);
const char* keeping_name(Store::Keeping keeping);
// From the path of the BLAS that a client found: openblas-pthread, openblas-openmp, blis, …
std::string blas_name(const ClientHeader& header);
// The libraries that are steered beside it, by their file names, and how many have none here.
std::vector<std::string> blas_beside(const ClientHeader& header);
std::string openmp_runtime_name(perfmodel::Runtime runtime);

// Why the tier of counters is no higher; "" where nothing was refused.
std::string counter_reason(const ClientHeader& header);
// What was counted in an op at about this width; null where nothing was.
Json counts_json(const ClientView& client, uint64_t key, int width);
Json text_or_null(const std::string& text);  // null for ""

// running, stopped, dying or finished.
const char* client_state(const ClientView& client);
// What was lost for this client, one sentence each.
std::vector<std::string> fallback_texts(const ClientView& client);

Json client_summary(const ClientView& client);
// What that and the report of its run both say.
Json client_basics(const ClientView& client);
// Of another user's, for whoever may not look into it.
Json stranger(const ClientView& client);
Json client_details(const ClientView& client);
// Whose width cannot be set: a program's own region, mostly, and the reason in words.
bool observed_only(const ClientView& client, const tuner::OpView& op);
// Where all that a program has are regions that are only watched, nobody asked for its width: then
// it is what they were seen to run at. 0 = not known.
int default_width_of(const ClientView& client);
std::string op_reason(const ClientView& client, const tuner::OpView& op);
Json op_row(const ClientView& client, const tuner::OpView& op);
// How its threads that issue ops share the cores.
Json sharing_json(const ClientView& client);
// Controls and rollbacks of a session.
Json guard_json(const tuner::GuardView& guard);
Json budget_json(const perfmodel::Budget& budget);
Json machine_summary(const perfmodel::Machine& machine);
Json machine_details(const perfmodel::Machine& machine, const perfmodel::Budget& budget);

}  // namespace optile::daemon
