# make alone lists the targets. Needed: Go, a C compiler (DuckDB is linked in), and
# the Go module proxy on the first run.

.DEFAULT_GOAL := help
SHELL := /bin/bash

# duckdb_arrow: without the tag the driver has no Arrow interface.
TAGS := duckdb_arrow
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BINARY := bin/placementsync
LAKE := bin/placementsync-lake
PREFIX ?= /usr/local
SECTIONS ?= all
TRIALS ?= Torture
FUZZTIME ?= 10m
TARGETS ?= .

# 0.8.2 is the newest release, and one that reads Go 1.26 code; pinned, so that a new
# check is met when the pin is moved and not when the lint is needed. Not
# golangci-lint: it takes minutes to build on two cores, and what else it would be
# used for, the import rules, are tests in internal/houserules.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The newest release whose own dependencies were all to be had; which vulnerabilities
# it knows is a matter of the database and not of its version.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

export CGO_ENABLED := 1

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/placementsync
	go build -trimpath -tags $(TAGS) -ldflags '-X main.version=$(VERSION)' -o $(BINARY) ./cmd/sync

# A target of its own: Iceberg takes minutes to compile, and most warehouses have no lake.
.PHONY: lake
lake: ## build bin/placementsync-lake, which publishes to Apache Iceberg
	go build -trimpath -tags $(TAGS) -ldflags '-X main.version=$(VERSION)' -o $(LAKE) ./cmd/lake

.PHONY: demo
demo: build ## build, then run the main job on the embedded demo service
	$(BINARY) demo

# Without the race detector in the lake: all of Iceberg would be compiled a second time,
# for three minutes, and each file of the lake has one writer; nor where no goroutine is
# begun: the nights of other packages decode and serve in many at once. Then the trials, by the
# names of the tests and scripts that skip themselves without PLACEMENTSYNC_TRIALS: all
# others have run. make lint has vetted the tests.
UNRACED := lake houserules sim transform queries watch
# What takes longest begins first: begun last, it would end alone.
LONGEST := ./cmd/sync ./internal/trials ./internal/load ./internal/warehouse ./internal/explore
# Nights sync each file, and most of what tests wait for is the disk: where 8 GB of memory
# can be had as a file system from which programs run, the folders of tests are in it.
MEMORY = $(shell awk '$$2 == "/dev/shm" && $$4 !~ /noexec/ { print $$2 }' /proc/mounts 2>/dev/null | \
	xargs -r df -Pk | awk 'NR == 2 && $$4 > 8000000 { print $$6 }')
# At its end a program with the race detector waits a second for races of goroutines that it
# leaves behind: a twentieth will do.
TEST = env $(if $(TMPDIR),,$(if $(MEMORY),TMPDIR=$(MEMORY))) GORACE=atexit_sleep_ms=50 go test
SPACE := $(subst ,, )
QUICKLY := -vet=off -ldflags='-s -w' -timeout 15m -tags $(TAGS)
.PHONY: test
test: ## run all tests: those of seconds with the race detector, the others without it
	$(TEST) -race $(QUICKLY) $(LONGEST) $$(go list -tags $(TAGS) ./... | grep -v '/\($(subst $(SPACE),\|,$(UNRACED))\)$$')
	PLACEMENTSYNC_TRIALS=1 $(TEST) $(QUICKLY) $$(go list -tags $(TAGS) ./... | grep '/\($(subst $(SPACE),\|,$(UNRACED))\)$$')
	files=$$(grep -rl '^[[:space:]]requireTrials(t)' --include='*_test.go' .); \
	tests=$$(awk '/^func Test/ { split($$2, name, "(") } /\trequireTrials\(t\)/ { print name[1] }' $$files | sort -u | paste -sd '|'); \
	scripts=$$(cd cmd/sync/testdata/script && grep -l '^\[!trials\] skip' *.txtar | sed 's/\.txtar$$//' | paste -sd '|'); \
	PLACEMENTSYNC_TRIALS=1 $(TEST) $(QUICKLY) \
		-run "^($$tests)\$$|^TestScripts\$$/^($$scripts)\$$" $$(dirname $$files | sort -u)

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
	go test -tags $(TAGS) ./internal/houserules -run TestDocs -update

# The newest release of the changelog.
RELEASE ?= $(shell sed -n 's/^## \([0-9][0-9.]*\) - .*/\1/p' CHANGELOG.md | head -n 1)

# Once for each release: how it left a warehouse is what later ones are tried with.
.PHONY: fixture
fixture: ## write the fixture warehouse of the newest release in CHANGELOG.md (RELEASE=1.0.0)
	@test -n '$(RELEASE)' || { echo "CHANGELOG.md has no release yet: give its newest heading a number and a date"; exit 1; }
	go test -count=1 -tags $(TAGS) -ldflags '-X placementsync/cmd/sync.version=$(RELEASE)' \
		-run '^TestWriteFixture$$' ./cmd/sync -args -release '$(RELEASE)'

.PHONY: bench
bench: build ## measure, and write docs/performance.md (SECTIONS=nights,wire,passes,large,peers,limited,tiny,demo,lake,explore,decode,stages,year; lake needs make lake)
	@if [ '$(SECTIONS)' = all ]; then go test -tags $(TAGS) -run '^$$' -bench . -benchmem -timeout 60m ./... ; fi
	PLACEMENTSYNC_BENCH=$(SECTIONS) PLACEMENTSYNC_BENCH_DOCS=$(CURDIR)/docs \
		go test -tags $(TAGS) -run TestPerformance -v -parallel 8 -timeout 6h ./internal/bench
	@if [ '$(SECTIONS)' = all ]; then PLACEMENTSYNC_BENCH=paint PLACEMENTSYNC_TRIALS=1 \
		go test -tags $(TAGS) -run TestReportInChromium/paint -v ./cmd/sync; fi

.PHONY: torture
torture: ## run the long fault trials (up to two hours), and write docs/reliability.md (TRIALS=TortureFaultMatrix/gzip)
	PLACEMENTSYNC_TORTURE=1 PLACEMENTSYNC_TORTURE_DOCS=$(CURDIR)/docs \
		go test -tags $(TAGS) -run '$(TRIALS)' -timeout 120m ./... ; \
	status=$$?; go test -tags $(TAGS) -run TestReliabilityPage ./internal/torture -update && exit $$status

# Where make lake-test installs the engines, to find them there the next time.
ENGINES ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/placementsync-engines

.PHONY: lake-test
lake-test: ## compare Spark, Trino and other engines with DuckDB (up to an hour, 4 GB of downloads into ENGINES)
	PLACEMENTSYNC_ENGINES='$(ENGINES)' go test -tags $(TAGS) -v -timeout 60m ./internal/enginetest

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (10m), one after the other, and note it (TARGETS=FuzzBody)
	PLACEMENTSYNC_FUZZTIME=$(FUZZTIME) PLACEMENTSYNC_TORTURE_DOCS=$(CURDIR)/docs \
		go test -run 'TestFuzzTargets/$(TARGETS)' -v -timeout 0 ./internal/torture ; \
	status=$$?; go test -run TestReliabilityPage ./internal/torture -update && exit $$status

# Linked statically with the C and C++ libraries of the compiler (Debian: libc6-dev), for
# an image that has no others. Names are looked up by Go alone, and time zones are within
# the program. The lake is a program of its own, and not in the image.
STATIC := bin/placementsync-static
IMAGE = dist/placementsync-$(VERSION)-oci.tar
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: image
image: ## write the container image, dist/placementsync-VERSION-oci.tar (deploy/image/try.sh tries it)
	go build -trimpath -buildvcs=false -tags $(TAGS),netgo,osusergo -o $(STATIC) \
		-ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -linkmode external -extldflags -static' ./cmd/sync
	install -d $(dir $(IMAGE))
	go run -C deploy/image . -binary '$(abspath $(STATIC))' -o '$(abspath $(IMAGE))' \
		-version '$(VERSION)' -revision '$(COMMIT)' -created '$(SOURCE_DATE_EPOCH)'

# Names of folders below PREFIX, as packagers know them.
BINDIR = $(DESTDIR)$(PREFIX)/bin
SHAREDIR = $(DESTDIR)$(PREFIX)/share
UNITDIR = $(DESTDIR)$(PREFIX)/lib/systemd/system

.PHONY: install
install: build lake ## install both programs, completion, man page and units to PREFIX (/usr/local)
	install -d '$(BINDIR)' '$(UNITDIR)' '$(SHAREDIR)/man/man1' '$(SHAREDIR)/bash-completion/completions' \
		'$(SHAREDIR)/zsh/site-functions' '$(SHAREDIR)/fish/vendor_completions.d'
	install -m 0755 $(BINARY) '$(BINDIR)/placementsync'
	install -m 0755 $(LAKE) '$(BINDIR)/placementsync-lake'
	$(BINARY) docs man > '$(SHAREDIR)/man/man1/placementsync.1'
	$(BINARY) completion bash > '$(SHAREDIR)/bash-completion/completions/placementsync'
	$(BINARY) completion zsh > '$(SHAREDIR)/zsh/site-functions/_placementsync'
	$(BINARY) completion fish > '$(SHAREDIR)/fish/vendor_completions.d/placementsync.fish'
	@for unit in deploy/*.service deploy/*.timer; do \
		sed 's|/usr/local/bin|$(PREFIX)/bin|' "$$unit" > '$(UNITDIR)'/"$${unit##*/}" || exit 1; done

.PHONY: clean
clean: ## remove what the targets above have written
	rm -rf bin demo coverage* trace* *.out *.prof *.pprof *.test
