# make without arguments lists the targets. The build needs Go, a C and C++ compiler (Debian:
# g++; DuckDB is linked in) and, on the first run, the Go module proxy.

.DEFAULT_GOAL := help
SHELL := /bin/bash

# Without the tag duckdb_arrow the driver has no Arrow interface.
TAGS := duckdb_arrow
VERSION := $(shell deploy/version.sh)
COMMIT := $(shell deploy/version.sh commit)
SOURCE_DATE_EPOCH ?= $(shell deploy/version.sh time)
BINARY := bin/placementsync
LAKE := bin/placementsync-lake
LICENSES := bin/THIRD-PARTY-LICENSES
DIST := dist
PREFIX ?= /usr/local
SECTIONS ?= all
TRIALS ?= Torture
FUZZTIME ?= 10m
TARGETS ?= .

# 0.8.2 is the newest release and reads Go 1.26 code. It is pinned, so that new checks appear
# only when the pin is moved. golangci-lint is not used: it takes minutes to build on two cores,
# and the import rules are tests in internal/testing/houserules.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The newest release whose dependencies were all available. The known vulnerabilities come from
# the database and do not depend on the version.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

# nfpm writes packages. v2.46.0 to v2.48.0 need go.digitalxero.dev/go-msix, which the module
# proxy did not serve (403). Try the newest release when the pin is moved.
NFPM := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0

# Two builds of the same source give the same bytes in any folder: without paths, without
# repository data except the stamps below, and without debug symbols (94 instead of 103 MB).
GO_BUILD = $(if $(VERSION),,$(error which version this is, deploy/version.sh could not say))go build -trimpath -buildvcs=false -tags $(TAGS) \
	-ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)'

export CGO_ENABLED := 1

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/placementsync
	$(GO_BUILD) -o $(BINARY) ./cmd/sync

# A separate target, because Iceberg takes minutes to compile and most warehouses have no lake.
.PHONY: lake
lake: ## build bin/placementsync-lake, which publishes to Apache Iceberg
	$(GO_BUILD) -o $(LAKE) ./cmd/lake

.PHONY: demo
demo: build ## build, then run the main job on the embedded demo service
	$(BINARY) demo

# Tests mostly wait for the disk, because nights sync each file. If /dev/shm has 8 GB free and may
# contain programs, the temporary folders of tests are there.
MEMORY = $(shell awk '$$2 == "/dev/shm" && $$4 !~ /noexec/ { print $$2 }' /proc/mounts 2>/dev/null | \
	xargs -r df -Pk | awk 'NR == 2 && $$4 > 8000000 { print $$6 }')
# A program with the race detector waits one second at exit for late races; 50 ms are enough. The heap of
# tests is small, so collecting it less often saves time. Some tests wait, so one more test program than
# there are processors runs at the same time.
TEST = env $(if $(TMPDIR),,$(if $(MEMORY),TMPDIR=$(MEMORY))) GORACE=atexit_sleep_ms=50 GOGC=400 \
	go test -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# gold links a test program with DuckDB in half the time of the default linker.
LINKER := $(if $(shell command -v ld.gold),-extldflags=-fuse-ld=gold)
# -trimpath lets all clones of the project share the build cache.
TEST_FLAGS := -trimpath -vet=off -ldflags='-s -w $(LINKER)' -timeout 40m -tags $(TAGS)
ALL_PACKAGES = $(shell go list -tags $(TAGS) ./...)
# These packages compile Iceberg, which takes minutes. Their tests are trials.
SLOW_PACKAGES := cmd/lake internal/lake internal/testing/trials
# These packages start goroutines. Their tests run with the race detector, which triples the time.
CONCURRENT_PACKAGES := backup command daemon durable fetch mcp notify transform webhook
# In these packages, the tests of CONCURRENT_TESTS run with the race detector, and the other tests run
# without it: the inbox, progress, jobs, the batches of a table, and nights.
PARTLY_CONCURRENT := cmd/sync internal/explore internal/load internal/pipeline internal/query internal/sim internal/warehouse
CONCURRENT_TESTS := Inbox|Progress|Bars|ConcurrentUse|Jobs|Cancelled|PublishSwitches|AreOpened|$\
	RareChosen|FailedLargeBatch|FailedBatch|RejectsAreKept|EventsAreKnown|StopDuring|Refresher|ChangedDetails
# These scripts run commands in several processes, and these tests run several nights. The trials run them
# with the race detector, and make test runs them without it.
CONCURRENT_SCRIPTS := hooks|serve|serve_drain|terminated
CONCURRENT_NIGHTS := NightsFollow|Interrupted|EventsOutlive
.PHONY: test
test: ## run the fast tests, those of concurrent packages with the race detector
	$(TEST) -race $(TEST_FLAGS) $(addprefix ./internal/,$(CONCURRENT_PACKAGES))
	$(TEST) -race $(TEST_FLAGS) -run '$(CONCURRENT_TESTS)' $(addprefix ./,$(PARTLY_CONCURRENT))
	$(TEST) $(TEST_FLAGS) -skip '$(CONCURRENT_TESTS)' $(addprefix ./,$(PARTLY_CONCURRENT))
	$(TEST) $(TEST_FLAGS) $(filter-out $(addprefix placementsync/,$(SLOW_PACKAGES) $(PARTLY_CONCURRENT) $(addprefix internal/,$(CONCURRENT_PACKAGES))),$(ALL_PACKAGES))

# The names of trials begin with TestTrial. They run without the race detector, which would triple their
# time, except the scripts of servers and signals and a few nights.
.PHONY: trials
trials: ## run whole nights, kills, damage, servers and the lake
	PLACEMENTSYNC_TRIALS=1 $(TEST) $(TEST_FLAGS) $(addprefix ./,$(SLOW_PACKAGES))
	PLACEMENTSYNC_TRIALS=1 $(TEST) $(TEST_FLAGS) -run '^TestTrial' ./internal/fetch ./internal/load ./internal/explore ./internal/mcp
	$(TEST) -race $(TEST_FLAGS) -run '^TestScripts$$/^($(CONCURRENT_SCRIPTS))$$' ./cmd/sync
	$(TEST) -race $(TEST_FLAGS) -run '$(CONCURRENT_NIGHTS)' ./internal/pipeline

# .ci/run has no time for these trials.
.PHONY: trials-commands
trials-commands: ## run the trials of commands: samples of the documents, browsers, load and warehouses of earlier releases
	PLACEMENTSYNC_TRIALS=1 $(TEST) $(TEST_FLAGS) -run '^TestTrial' ./cmd/sync

.PHONY: lint
lint: ## check format, go vet and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go vet -tags $(TAGS) ./...
	go run $(STATICCHECK) -tags $(TAGS) ./...

.PHONY: tidy-check
tidy-check: ## show what go mod tidy would change, fail if anything
	go mod tidy -diff

.PHONY: verify
verify: ## compare the modules in the cache with go.sum
	go mod verify

.PHONY: vuln
vuln: ## look for known vulnerabilities in what is called (asks the Go vulnerability database)
	go run $(GOVULNCHECK) -tags $(TAGS) ./...

.PHONY: docs
docs: ## write the generated pages under docs/ again
	go test -tags $(TAGS) ./internal/testing/houserules -run TestDocsLicenses -update
	go test -tags $(TAGS) ./cmd/sync -run '^TestDocs$$' -update
	go test -tags $(TAGS) ./internal/daemon -run TestMetricsPage -update

# The newest release of the changelog.
RELEASE ?= $(shell sed -n 's/^## \([0-9][0-9.]*\) - .*/\1/p' CHANGELOG.md | head -n 1)

# Run once for each release. Later releases are tested with its warehouse.
.PHONY: fixture
fixture: ## write the fixture warehouse of the newest release in CHANGELOG.md (RELEASE=1.0.0)
	@test -n '$(RELEASE)' || { echo "CHANGELOG.md has no release yet: give its newest heading a number and a date"; exit 1; }
	go test -count=1 -tags $(TAGS) -ldflags '-X placementsync/cmd/sync.version=$(RELEASE)' \
		-run '^TestWriteFixture$$' ./cmd/sync -args -release '$(RELEASE)'

.PHONY: figures
figures: ## print lines, functions, terms and words, to compare two states of the project
	@go test -tags $(TAGS) -count=1 -v -run '^TestFigures$$' ./internal/testing/houserules

.PHONY: messages
messages: ## print every error, log message and help text, with its place in the source
	@go test -tags $(TAGS) -count=1 -v -run '^TestMessages$$' ./internal/testing/houserules

# AGAINST is a second program, for example of an earlier state. Both are measured in turn.
.PHONY: bench
bench: build ## measure nights and print the results (SECTIONS=nights,passes,large,peers,explore,paint LISTINGS=1000000 RUNS=4 AGAINST=/tmp/placementsync)
	PLACEMENTSYNC_BENCH='$(SECTIONS)' PLACEMENTSYNC_BENCH_LISTINGS='$(LISTINGS)' PLACEMENTSYNC_BENCH_RUNS='$(RUNS)' \
		PLACEMENTSYNC_BENCH_AGAINST='$(AGAINST)' \
		go test -tags $(TAGS) -count=1 -run TestPerformance -v -timeout 6h ./internal/testing/bench
	@case ',$(SECTIONS),' in *,all,*|*,explore,*) PLACEMENTSYNC_BENCH=explore PLACEMENTSYNC_TRIALS=1 \
		go test -tags $(TAGS) -count=1 -run 'TestTrial(Tables|Catalog)OfMany' -v ./internal/explore;; esac
	@case ',$(SECTIONS),' in *,all,*|*,paint,*) PLACEMENTSYNC_BENCH=paint PLACEMENTSYNC_TRIALS=1 \
		go test -tags $(TAGS) -count=1 -run TestTrialReportInChromium/paint -v ./cmd/sync;; esac

.PHONY: torture
torture: ## run the long fault trials (up to two hours), and store their results in docs/reliability/results.json (TRIALS=TortureFaultMatrix/gzip; SEEDS=100 or 7-9 for TRIALS=TortureSeason)
	PLACEMENTSYNC_SEEDS='$(SEEDS)' PLACEMENTSYNC_SEASON='$(SEASON)' PLACEMENTSYNC_TORTURE=1 PLACEMENTSYNC_TORTURE_DOCS=$(CURDIR)/docs \
		go test -tags $(TAGS) -run '$(TRIALS)' -timeout 120m ./...

# The folder in which make lake-test installs the engines and finds them the next time.
ENGINES ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/placementsync-engines

.PHONY: lake-test
lake-test: ## compare Spark, Trino and other engines with DuckDB, and use a real S3 server (up to an hour, 4 GB of downloads into ENGINES)
	PLACEMENTSYNC_ENGINES='$(ENGINES)' go test -tags $(TAGS) -v -timeout 60m ./internal/testing/enginetest
	PLACEMENTSYNC_ENGINES='$(ENGINES)' go test -tags $(TAGS) -v -run 'OnAnS3Server|PyIceberg' ./cmd/lake ./cmd/sync

.PHONY: upgrade-test
upgrade-test: ## run earlier releases and this program in turn on the same warehouses (builds them once, a few minutes)
	PLACEMENTSYNC_UPGRADE=1 PLACEMENTSYNC_TORTURE_DOCS=$(CURDIR)/docs \
		$(TEST) -tags $(TAGS) -run '^TestUpgrade$$' -timeout 60m ./internal/testing/trials

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (10m), one after the other, and note it (TARGETS=FuzzBody)
	PLACEMENTSYNC_FUZZTIME=$(FUZZTIME) PLACEMENTSYNC_TORTURE_DOCS=$(CURDIR)/docs \
		go test -run 'TestFuzzTargets/$(TARGETS)' -v -timeout 0 ./internal/testing/torture

# Linked statically with the C and C++ libraries of the compiler (Debian: libc6-dev), because
# the image has no libraries. Go resolves names itself, and time zones are embedded. The lake is
# a separate program and not in the image.
STATIC := bin/placementsync-static
IMAGE = dist/placementsync-$(VERSION)-oci.tar

.PHONY: image
image: ## write the container image, dist/placementsync-VERSION-oci.tar (deploy/image/try.sh tries it)
	go build -trimpath -buildvcs=false -tags $(TAGS),netgo,osusergo -o $(STATIC) \
		-ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -linkmode external -extldflags -static' ./cmd/sync
	install -d $(dir $(IMAGE))
	go run -C deploy/image . -binary '$(abspath $(STATIC))' -o '$(abspath $(IMAGE))' \
		-version '$(VERSION)' -revision '$(COMMIT)' -created '$(SOURCE_DATE_EPOCH)'

# The files that make install puts below PREFIX and make uninstall removes.
PROGRAMS := placementsync placementsync-lake
UNITS := placementsync.service placementsync-run.service placementsync-run.timer
DOCUMENTS = config.example.yaml LICENSE NOTICE README.md CHANGELOG.md deploy/crontab $(LICENSES)
DOCDIR := share/doc/placementsync
INSTALLED = $(foreach p,$(PROGRAMS),bin/$p share/bash-completion/completions/$p \
	share/zsh/site-functions/_$p share/fish/vendor_completions.d/$p.fish) \
	$(addprefix lib/systemd/system/,$(UNITS)) $(addprefix $(DOCDIR)/,$(notdir $(DOCUMENTS)))

.PHONY: licenses
licenses:
	deploy/packages/licenses.sh $(TAGS) > $(LICENSES)

.PHONY: install
install: build lake licenses install-files ## install both programs with completion, man pages, units and documents to PREFIX (/usr/local)

.PHONY: install-files
install-files:
	@set -eo pipefail; put() { install -D -m "$$1" "$$2" '$(DESTDIR)$(PREFIX)'/"$$3"; }; \
	for pair in placementsync:$(BINARY) placementsync-lake:$(LAKE); do \
		name=$${pair%%:*}; program=$${pair#*:}; \
		put 0755 "$$program" bin/$$name; \
		pages=$$(mktemp -d); SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' "$$program" docs man "$$pages"; \
		for page in "$$pages"/*.1; do put 0644 "$$page" share/man/man1/$${page##*/}; done; rm -r "$$pages"; \
		"$$program" completion bash | put 0644 /dev/stdin share/bash-completion/completions/$$name; \
		"$$program" completion zsh | put 0644 /dev/stdin share/zsh/site-functions/_$$name; \
		"$$program" completion fish | put 0644 /dev/stdin share/fish/vendor_completions.d/$$name.fish; \
	done; \
	for unit in $(UNITS); do \
		sed 's|/usr/local/bin|$(PREFIX)/bin|' deploy/$$unit | put 0644 /dev/stdin lib/systemd/system/$$unit; \
	done; \
	for document in $(DOCUMENTS); do put 0644 $$document $(DOCDIR)/$${document##*/}; done; \
	sed 's|/usr/local/bin|$(PREFIX)/bin|' deploy/crontab | put 0644 /dev/stdin $(DOCDIR)/crontab

# Shared folders, the configuration and the warehouse stay.
.PHONY: uninstall
uninstall: ## remove what make install has put below PREFIX, and nothing else
	rm -f $(foreach file,$(INSTALLED),'$(DESTDIR)$(PREFIX)/$(file)') '$(DESTDIR)$(PREFIX)'/share/man/man1/placementsync{,-*}.1
	@[ ! -d '$(DESTDIR)$(PREFIX)/$(DOCDIR)' ] || rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(PREFIX)/$(DOCDIR)'

.PHONY: packages
packages: build lake licenses ## write .deb, .rpm, .tar.gz, an SBOM and checksums of all to dist
	VERSION='$(VERSION)' SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' NFPM='$(NFPM)' DIST='$(DIST)' \
		BINARY='$(BINARY)' LAKE='$(LAKE)' LICENSES='$(LICENSES)' deploy/packages/build.sh

.PHONY: ship
ship: ## build packages and image, and try all of it: needs root and Debian tools, and says what is missing
	VERSION='$(VERSION)' deploy/ship.sh

.PHONY: clean
clean: ## remove what the targets above have written
	rm -rf bin dist demo coverage* trace* *.out *.prof *.pprof *.test
