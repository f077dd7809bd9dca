#include "tests/preload/fakes/fake_ittnotify.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The layouts of version 3 of the ITT API, once more: what the shim declares is tested by them. */
typedef struct identifier {
  unsigned long long d1, d2, d3;
} identifier;
typedef struct domain {
  volatile int flags;
  const char* name;
  void* wide;
  int extra1;
  void* extra2;
  struct domain* next;
} domain;
typedef struct string_handle {
  const char* text;
  void* wide;
  int extra1;
  void* extra2;
  struct string_handle* next;
} string_handle;
typedef struct api {
  const char* name;
  void** called;
  void* initial;
  void* without;
  unsigned group;
} api;
typedef struct global {
  unsigned char magic[8];
  unsigned long major, minor, build;
  volatile long initialized, mutex_initialized, counter;
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** path;
  api* list;
  struct global* next;
  void* threads;
  domain* domains;
  string_handle* strings;
  int state;
} global;

typedef domain* (*create_domain_fn)(const char*);
typedef string_handle* (*create_string_fn)(const char*);
typedef void (*task_begin_fn)(const domain*, identifier, identifier, string_handle*);
typedef void (*task_end_fn)(const domain*);
typedef void (*metadata_fn)(const domain*, string_handle*, ...);

static void open_collector(void);
static domain* first_domain(const char* name);
static string_handle* first_string(const char* text);
static void first_begin(const domain* of, identifier task, identifier parent, string_handle* name);
static void first_end(const domain* of);
static void first_metadata(const domain* of, string_handle* format, ...);
static void first_mark(void);

static create_domain_fn create_domain = first_domain;
static create_string_fn create_string = first_string;
static task_begin_fn task_begin = first_begin;
static task_end_fn task_end = first_end;
static metadata_fn metadata = first_metadata;
static void (*mark)(void) = first_mark;

static api list[] = {
    {"__itt_domain_create", (void**)&create_domain, (void*)first_domain, (void*)first_domain, 16},
    {"__itt_string_handle_create", (void**)&create_string, (void*)first_string, (void*)first_string,
     16},
    {"__itt_task_begin", (void**)&task_begin, (void*)first_begin, NULL, 16},
    {"__itt_task_end", (void**)&task_end, (void*)first_end, NULL, 16},
    {"__itt_formatted_metadata_add", (void**)&metadata, (void*)first_metadata, NULL, 16},
    {"__itt_mark", (void**)&mark, (void*)first_mark, NULL, 8},
    {NULL, NULL, NULL, NULL, 0}};

static global self = {.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
                      .major = 3,
                      .mutex = PTHREAD_MUTEX_INITIALIZER,
                      .list = list};
static struct fake_itt told = {.groups = 0xffffffffU, .build = 20250807};
static const identifier kNull = {0, 0, 0};
static int ranges;

static domain* first_domain(const char* name) {
  if (self.initialized) return NULL; /* as those of today without a collector */
  domain* made = calloc(1, sizeof *made);
  made->flags = 1;
  made->name = name;
  made->next = self.domains;
  self.domains = made;
  return made;
}

static string_handle* first_string(const char* text) {
  if (self.initialized) return NULL;
  string_handle* made = calloc(1, sizeof *made);
  made->text = text;
  made->next = self.strings;
  self.strings = made;
  return made;
}

static void open_collector(void) {
  if (self.initialized) return;
  self.build = told.build;
  const char* name = getenv("INTEL_LIBITTNOTIFY64");
  if (name != NULL) self.library = dlopen(name, RTLD_LAZY);
  void (*init)(global*, unsigned) = NULL;
  if (self.library != NULL)
    init = (void (*)(global*, unsigned))dlsym(self.library, "__itt_api_init");
  for (api* one = list; init == NULL && one->name != NULL; ++one) *one->called = one->without;
  pthread_mutex_lock(&self.mutex);
  if (init != NULL) init(&self, told.groups);
  pthread_mutex_unlock(&self.mutex);
  self.initialized = 1;
}

static void first_begin(const domain* of, identifier task, identifier parent, string_handle* name) {
  open_collector();
  if (task_begin != NULL && task_begin != first_begin) task_begin(of, task, parent, name);
}

static void first_end(const domain* of) {
  open_collector();
  if (task_end != NULL && task_end != first_end) task_end(of);
}

static void first_metadata(const domain* of, string_handle* format, ...) {
  (void)of;
  (void)format;
  open_collector();
}

static void first_mark(void) {
  open_collector();
}

static domain* domain_of(int creates) {
  static domain* known[2];
  if (known[creates] == NULL) {
    known[creates] =
        create_domain(creates ? "dnnl::primitive::create" : "dnnl::primitive::execute");
  }
  return known[creates];
}

static void ask_for_domain(int creates) {
  domain_of(creates);
}

static void run(int creates, const char* kind, const char* info, void (*work)(void), int end) {
  static string_handle* format;
  if (format == NULL) format = create_string("%s");
  domain* of = domain_of(creates);
  static const char* known; /* oneDNN asks once for each kind */
  static string_handle* name;
  if (known != kind) name = create_string(kind);
  known = kind;
  if (of != NULL && of->flags && task_begin != NULL) task_begin(of, kNull, kNull, name);
  if (info != NULL && of != NULL && of->flags && metadata != NULL) metadata(of, format, info);
  if (work != NULL) work();
  if (end && of != NULL && of->flags && task_end != NULL) task_end(of);
}

static void range(const char* name) {
  static domain* of;
  if (of == NULL) of = create_domain("PyTorch");
  string_handle* handle = create_string(name);
  if (of == NULL || !of->flags) return;
  if (task_begin != NULL) {
    if (self.initialized) ++ranges;
    task_begin(of, kNull, kNull, handle);
  }
  if (task_end != NULL && of->flags) task_end(of);
}

static int tasks_are_told(void) {
  return task_begin != NULL && task_begin != first_begin && task_end != NULL &&
         task_end != first_end;
}
static int metadata_are_told(void) {
  return metadata != NULL && metadata != first_metadata;
}
static int is_unopened(void) {
  return mark == first_mark;
}
static int ranges_told(void) {
  return ranges;
}

struct fake_itt* fake_itt_library(void);
struct fake_itt* fake_itt_library(void) {
  told.domain = ask_for_domain;
  told.run = run;
  told.range = range;
  told.tasks_are_told = tasks_are_told;
  told.metadata_are_told = metadata_are_told;
  told.is_unopened = is_unopened;
  told.ranges_told = ranges_told;
  return &told;
}
