#include "bindings/abi/frames.h"
#include "bindings/preload/core/probe.h"

/* Sizes as a C compiler sees them; layout_test.cc compares them with C++'s. */
const size_t optile_sizes_in_c[] = {sizeof(optile_plan_entry),     sizeof(optile_plan_page),
                                    sizeof(optile_plan_region),    sizeof(optile_event),
                                    sizeof(optile_thread_slot),    sizeof(optile_client_region),
                                    sizeof(optile_attach_request), sizeof(optile_attach_reply)};
