# make                      build                          (needs postgresql-server-dev-NN and g++)
# make install              install into the server that pg_config names
# make installcheck PGUSER=...    SQL tests on a running server that has flakeid installed
# make demo                 see it work on a throw-away server; installs what is missing first
# make check                tests for each commit, on throw-away servers; installs what is missing first
# make check-world          all tests, hours of them
# make sim SEED=7 STEPS=3000    one seed of the simulation; SEEDS=100: many (doc/dev/simulation.md)
# make prove PROVE_TESTS=test/t/006_node.pl    TAP tests, with what pg_config names and flakeid installed there
# make format, make lint    the sources of C++ as clang-format-14 writes them; what clang-tidy finds in them
# make dist                 the archive for PGXN, of the last commit, in build
# make deb                  Debian packages, in build/deb; installs what is missing first
# make plain                the edition in plain SQL, in build/plain
# make site                 the manual as a site, in build/site; installs what is missing first

ifneq ($(filter demo check check-world sim deb dist site plain,$(MAKECMDGOALS)),)

.PHONY: demo check check-world sim deb dist site plain
demo check:
	@test/run test/$@
check-world:
	@test/check_world
sim:
	@$(MAKE) -s --no-print-directory -C test/sim run
deb dist site:
	@packaging/$@
plain:
	@packaging/plain/build

else

EXTENSION = flakeid flakeid_tables flakeid_coordinator
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" flakeid.control)
MODULE_big = flakeid
SOURCES = $(wildcard src/*.cpp src/*/*.cpp src/*/*/*.cpp)
# The client of coordinators is a library of its own, so that flakeid needs no libpq where none is named.
CLIENT = flakeid_libpq$(DLSUFFIX)
CLIENT_ALONE = $(patsubst %.cpp,%.o,$(wildcard src/leases/remote/*.cpp))
CLIENT_OBJS = $(CLIENT_ALONE) src/leases/rules/answer.o src/leases/rules/term.o src/core/plain_text.o
OBJS = $(filter-out $(CLIENT_ALONE),$(SOURCES:.cpp=.o))

# The scripts of this version are made of chapters, in this order, which stand in a folder for each extension. Those of released versions are
# frozen, and stand in sql/. (What PGXS knows as SCRIPTS is installed among the programs.)
CHAPTERS_flakeid = version type generate read find text cipher sealed layouts settled status stats nodes state admin rights
CHAPTERS_flakeid_tables = owner partition convert_columns convert_round convert_problems convert_steps convert rights
CHAPTERS_flakeid_coordinator = leases
SQL_SCRIPTS = $(EXTENSION:%=sql/%--$(EXTVERSION).sql)
DATA_built = $(SQL_SCRIPTS)
DATA = $(filter-out $(SQL_SCRIPTS),$(wildcard sql/flakeid*--*.sql))

# A conversion takes a node that the server never had, and generate, layouts and settled use them all.
REGRESS = install type owner partition retention zones convert sealed public_ids differences plans generate read guess find find_days text cipher status \
	settings errors layouts vectors settled leases
# Some of their texts are not ASCII, and a server that was made where no locale is set has SQL_ASCII.
ENCODING = UTF8

# What both g++ and the clang of the bitcode step take. Exceptions must not cross the server's
# C frames, and without them and run-time initialisers nothing of libstdc++ is needed.
CORE_CXXFLAGS = -std=c++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics \
	-fvisibility=hidden -Wno-register
# A build that is to be the same anywhere does not tell where it was made.
ifdef SOURCE_DATE_EPOCH
CORE_CXXFLAGS += -ffile-prefix-map=$(CURDIR)=.
endif
PG_CXXFLAGS = $(CORE_CXXFLAGS) -Wall -Wextra -Wno-unused-parameter \
	-Wno-missing-field-initializers $(if $(WERROR),-Werror) -MMD -MP

PG_CPPFLAGS = -Isrc -I$(libpq_srcdir) -DFLAKEID_VERSION='"$(EXTVERSION)"' $(NDEBUG)
# The core's assertions are checked where the server's are, and in the tests without a server.
NDEBUG = $(if $(findstring --enable-cassert,$(shell $(PG_CONFIG) --configure)),,-DNDEBUG)

EXTRA_CLEAN = build $(CLIENT) $(CLIENT_ALONE) $(SOURCES:.cpp=.d)

PG_CONFIG = pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs))
ifeq ($(PGXS),)
$(error PGXS not found: install postgresql-server-dev-NN, or pass PG_CONFIG=/path/to/pg_config)
endif
include $(PGXS)

COMPILE.cxx.bc += $(CORE_CXXFLAGS)

# PGXS makes one library of many objects. This is the other one; SQL calls nothing of it, so it has no bitcode.
$(CLIENT): $(CLIENT_OBJS)
	$(LINK.shared) -o $@ $^ $(LDFLAGS) $(LDFLAGS_SL) $(libpq) $(BE_DLLLIBS)
.PHONY: install-client uninstall-client
install-client: $(CLIENT) installdirs
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/'
uninstall-client:
	rm -f '$(DESTDIR)$(pkglibdir)/$(CLIENT)'
all: $(CLIENT)
install: install-client
uninstall: uninstall-client

$(foreach e,$(EXTENSION),$(eval sql/$e--$(EXTVERSION).sql: $(CHAPTERS_$e:%=sql/$e/%.sql)))
$(SQL_SCRIPTS): flakeid.control Makefile
	awk 'FNR == 1 && NR > 1 { print "" } { gsub(/@VERSION@/, "$(EXTVERSION)") } 1' $(filter %.sql,$^) >$@

# TAP tests; not by TAP_TESTS, with which installcheck would fail where IPC::Run is missing.
PROVE_TESTS = test/t/*.pl
.PHONY: prove
prove:
	$(prove_installcheck)

.PHONY: format lint $(SOURCES:.cpp=.lint)
format:
	clang-format-14 -i $(shell find src test/unit test/model test/fuzz -name '*.[ch]pp')
lint: $(SOURCES:.cpp=.lint)
$(SOURCES:.cpp=.lint): %.lint: %.cpp
	clang-tidy --quiet $< -- $(CORE_CXXFLAGS) $(CPPFLAGS)

# PGXS of Debian tracks no headers: the compiler writes those that a source includes beside its object.
-include $(SOURCES:.cpp=.d)
$(SOURCES:.cpp=.o): flakeid.control Makefile
$(OBJS:.o=.bc): %.bc: %.o

endif
