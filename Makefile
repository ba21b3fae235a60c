# make without arguments lists the targets. The build needs Go, a C and C++ compiler (Debian:
# g++; DuckDB is linked in) and, on the first run, the Go module proxy.

.DEFAULT_GOAL := help
SHELL := /bin/bash

# Without the tag duckdb_arrow the driver has no Arrow interface. With -trimpath all commands, and all clones
# of the project, share the build cache.
TAGS := duckdb_arrow
export GOFLAGS := $(GOFLAGS) -trimpath -tags=$(TAGS)
VERSION := $(shell deploy/version.sh)
COMMIT := $(shell deploy/version.sh commit)
SOURCE_DATE_EPOCH ?= $(shell deploy/version.sh time)
BINARY := bin/placementsync
LAKE := bin/placementsync-lake

# 0.8.2 is the newest release and reads Go 1.26 code. It is pinned, so that new checks appear
# only when the pin is moved. golangci-lint is not used: it takes minutes to build on two cores.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# v1.1.4 is the newest release whose dependencies were all available.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

# Two builds of the same source give the same bytes in any folder: without paths, without
# repository data except the stamps below, and without debug symbols (94 instead of 103 MB).
GO_BUILD = $(if $(VERSION),,$(error deploy/version.sh printed no version: correct its error above))go build -buildvcs=false \
	-ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)'
export CGO_ENABLED := 1

.PHONY: help build lake demo test trials trials-short lint tidy-check verify vuln docs fixture figures messages
.PHONY: bench torture lake-test upgrade-test fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/placementsync
	$(GO_BUILD) -o $(BINARY) ./cmd/sync

# A module of its own, because Iceberg takes minutes to compile and most warehouses have no lake.
lake: ## build bin/placementsync-lake, which publishes to Apache Iceberg
	cd lake && $(GO_BUILD) -o ../$(LAKE) ./cmd/lake

demo: build ## build, then run the main job on the embedded demo service
	$(BINARY) demo

# Tests mostly wait for the disk, because nights sync each file. If /dev/shm has 8 GB free and may
# contain programs, the temporary folders of tests are there.
MEMORY = $(shell awk '$$2 == "/dev/shm" && $$4 !~ /noexec/ { print $$2 }' /proc/mounts 2>/dev/null | \
	xargs -r df -Pk | awk 'NR == 2 && $$4 > 8000000 { print $$6 }')
# A program with the race detector waits one second at exit for late races; 50 ms are enough. The heap of
# tests is small, so collecting it less often saves time. Some tests wait, so a test program runs two of them
# for each processor. gold links a test program with DuckDB in half the time of the default linker. mold takes
# a third less processor time than gold, but only newer compilers know it.
LINKER := $(firstword $(foreach linker,mold gold,\
	$(shell $(CC) -fuse-ld=$(linker) -Wl,--version >/dev/null 2>&1 && echo -extldflags=-fuse-ld=$(linker))))
TEST = env $(if $(TMPDIR),,$(if $(MEMORY),TMPDIR=$(MEMORY))) GORACE=atexit_sleep_ms=50 GOGC=400 \
	go test -parallel $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN)) -vet=off -ldflags='-s -w $(LINKER)' -timeout 60m
# These packages start goroutines, so they are tested with the race detector. transform starts none, and the
# nights of pipeline call it from several.
RACE := $(addprefix ./internal/,backup cli daemon durable fetch notify webhook)
# In these packages the tests that call harness.Slow run without the race detector, and the others with it.
RACE_AND_SLOW := ./cmd/sync $(addprefix ./internal/,explore load mcp pipeline query sim warehouse)
OTHERS = $(filter-out $(patsubst ./%,placementsync/%,$(RACE) ./internal/testing/trials%),$(shell go list ./...))

test: ## run the fast tests, those of concurrent packages with the race detector
	$(TEST) -short -race $(RACE) $(RACE_AND_SLOW)
	$(TEST) -short $(OTHERS)

trials-short: ## run whole nights, kills, damage and the lake, with fewer cases than make trials
	$(TEST) -short ./internal/testing/trials/...
	cd lake && $(TEST) -short ./...

trials: ## run all tests: also browsers, load, samples of the documents and warehouses of earlier releases
	$(TEST) ./...
	cd lake && $(TEST) ./...

lint: ## check format, go vet and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	cd lake && go vet ./...
	go run $(STATICCHECK) ./...
	cd lake && go run $(STATICCHECK) ./...

tidy-check: ## show the changes that go mod tidy would make, fail if there are any
	go mod tidy -diff
	cd lake && go mod tidy -diff

verify: ## compare the modules in the cache with go.sum
	go mod verify
	cd lake && go mod verify

vuln: ## look for known vulnerabilities in called functions (asks the Go vulnerability database)
	go run $(GOVULNCHECK) ./...
	cd lake && go run $(GOVULNCHECK) ./...

docs: ## write the generated pages under docs/ again
	go test ./internal/testing/houserules -run TestDocsLicenses -update
	go test ./cmd/sync -run '^TestDocs$$' -update
	go test ./internal/daemon -run TestMetricsPage -update

figures: ## print lines, functions, terms and words, to compare two states of the project
	@go test -count=1 -v -run '^TestFigures$$' ./internal/testing/houserules

messages: ## print every error, log message and help text, with its place in the source
	@go test -count=1 -v -run '^TestMessages$$' ./internal/testing/houserules

include deploy/Makefile
include internal/testing/Makefile
clean: ## remove the files that the targets above have written
	rm -rf bin dist demo coverage* trace* *.out *.prof *.pprof *.test
