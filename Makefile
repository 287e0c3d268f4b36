# Building, trying and testing Portico. `make test` is everything that must pass
# before a change is taken in; it provides what it lacks and says so.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

# The modules of this repository that hold code: the program, and what has
# dependencies that no one else should have to fetch.
MODULES := . test/sdk test/deploy test/console deploy/release

# The go command fetches the version that go.mod names, if it is an older one itself, also
# where its own settings say otherwise.
export GOTOOLCHAIN ?= auto

# The same bytes from the same source, in whatever folder: results of tests are kept for as
# long as the programs are the same. The compiler collects its garbage a quarter as often,
# which takes a tenth of the time and up to 1.2 GB at a time. It writes no tables for
# debuggers, which takes another tenth: go build without make has them. Tests vet nothing, as
# lint and vet do.
export GOFLAGS := $(if $(filter -trimpath,$(GOFLAGS)),$(GOFLAGS),$(strip $(GOFLAGS) -trimpath '-toolexec=env GOGC=400' -gcflags=all=-dwarf=false -ldflags=-w -vet=off))

# As releases are built, so that there is one such build.
export CGO_ENABLED := 0

# Packages that run the programs as processes. The suite for providers is among them for
# another reason: its tests run it a hundred times against servers in their own process,
# and with the race detector that takes six times as long; test-long has it.
PROTOCOL := ./test/upgrade/... ./test/wire/... ./test/hostile/... ./test/contract/... ./certify/contract
OUTSIDE := ./test/e2e/... ./test/corpus/... $(PROTOCOL)

# Those of them in which many callers meet gateways that die, reload and lose their store:
# their programs are built with the race detector, which makes a request three times as
# dear, and with failpoints, so that there is one such build. test-long runs all the others
# with these programs too.
CROWDED := ./test/reload/... ./test/outage/... ./test/blows/...

# The race detector, but not in SQLite's own code: that is C, put into Go by a
# program, and instrumented it takes two thirds of the tests' time. Its locks are in
# another package, which the detector does see.
RACE := -race '-gcflags=modernc.org/sqlite/lib=-race=false -dwarf=false' -tags failpoints
race-programs test-long: export CGO_ENABLED := 1

# What tests leave is collected as rarely as what the compiler leaves, where no programs
# inherit it.
quick unit walk: export GOGC := 400

# The programs that tests run as processes, each built once for all suites. The go command
# keeps the results of a suite until its inputs change: these programs, and the files named
# with them, which no test opens itself, but what it starts.
PROGRAMS = inputs=$$(test/inputs.sh .bin/$(1) $(2)); PORTICO_INPUTS=$$inputs PORTICO_BIN=$(CURDIR)/.bin/$(1)/portico CONTOSO_BIN=$(CURDIR)/.bin/$(1)/contoso PORTICO_FAILPOINTS_BIN=$(CURDIR)/.bin/$(1)/portico-failpoints

# Databases of tests lie in memory where there is enough: that a write outlasts the machine
# no test can show, and disks are what the tests would wait for. What is built lies there
# too, as the directories of tests follow GOTMPDIR where it is set.
MEMORY := $(shell test "$$(df --output=avail -BG /dev/shm 2>/dev/null | tail -1 | tr -dc 0-9)" -ge 12 2>/dev/null && echo TMPDIR=/dev/shm)

# All other packages. Those that wait longest begin first.
UNIT = ./inventory ./gateway ./upstream $$(go list ./... | grep -v -E '^portico/(inventory|gateway|upstream|certify/contract)$$|/test/(e2e|corpus|upgrade|wire|hostile|contract|reload|outage|blows|chaos|dashboards|clients|packaging)(/|$$)')

# Those of them that are tested without the race detector, which takes three times as long:
# they have neither goroutines nor locks, or those of the packages below them alone, and
# programs that are built with it meet a crowd of callers. test-long has it for these too.
UNRACED := ^portico/(access/roles|arm|arm/filter|certify/.*|cmd/.*|config(/.*)?|contoso(/.*)?|gateway|gateway/(admin/(api|status)|authorize|explain|frontdoor(/.*)?|polling|proxy)|internal/jsontext|inventory|inventory/(index|jobrow)|operations/(deletion|move)/plan|routing|schema|template(/.*)?|test/.*|tracing/headers)$$$$

.PHONY: build programs race-programs demo test test-long quick suites beside prepare lint format-check tidy-check vet staticcheck golangci unit walk outside e2e protocol crowded chaos-short sdk clients clients-js deploy packaging dashboards console console-pictures pictures fuzz-short bench-short vuln chaos evidence scale bench bench-peers release clean

# Tests look for symbols in theirs.
build: ## both programs, into .bin, without symbols, as releases are
	go build -ldflags='-s -w' -o .bin/ ./cmd/...

# The programs for tests, without the commit, which would make each of them another one.
# Only what differs is written: a suite is run anew when a program has a new time.
define for_tests
	mkdir -p .bin/$(1) .bin/new/$(1)
	go build $(2) -buildvcs=false -o .bin/new/$(1)/ ./cmd/...
	$(3)
	@for new in .bin/new/$(1)/*; do old=.bin/$(1)/$${new##*/}; cmp -s $$new $$old || { rm -f $$old; cp $$new $$old; }; done
endef

programs:
	$(call for_tests,test,,go build -buildvcs=false -o .bin/new/test/portico-failpoints -tags failpoints ./cmd/portico)

race-programs:
	$(call for_tests,race,$(RACE),ln -f .bin/new/race/portico .bin/new/race/portico-failpoints)

demo: ## the gateway and three regions of the reference provider, in one process
	go build -ldflags='-s -w' -o .bin/ ./cmd/portico
	.bin/portico demo

# Those that wait more than they work are run at a time.
test: ## everything, in the order of the time until it can fail
	@$(MAKE) --no-print-directory prepare
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target --keep-going suites beside
	@echo 'test: everything passed'

suites: ## all that waits for disks and processes
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory programs race-programs
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target --keep-going crowded e2e protocol console chaos-short dashboards deploy sdk

# They need a processor and no time of their own: what waits leaves them enough, on a
# slow machine only after half an hour.
beside: ## the walk, the fuzz targets and benchmarks, while others wait
	@nice $(MAKE) --no-print-directory walk
	@nice $(MAKE) --no-print-directory fuzz-short
	@nice $(MAKE) --no-print-directory bench-short
	@nice $(MAKE) --no-print-directory vuln

test-long: programs race-programs ## the longer forms of what has a shorter one in test: an hour and a half
	$(MAKE) --no-print-directory chaos
	$(call PROGRAMS,race,configs docs test/garden test/issuer) $(MEMORY) go test -timeout 60m -parallel 4 -skip '^TestNormalBuildHasNoPoint$$' $(filter-out ./certify/%,$(OUTSIDE))
	$(call PROGRAMS,race) $(MEMORY) go test -C test/sdk -timeout 15m ./...
	$(call PROGRAMS,test) go test ./test/e2e -count=1 -timeout 30m -v -run '^(TestReloadUnderLoad|TestRestartsUnderLoad|TestGroupDeleteOfManyResources)$$' -e2e.long
	$(call PROGRAMS,test) go test ./test/hostile -count=1 -timeout 30m -v -run '^TestRawRequests$$' -raw.inputs 100000
	go test $(RACE) ./certify/contract $$(go list $(UNIT) | grep -E '$(UNRACED)') -count=1 -timeout 30m
	RAPID_CHECKS=5000 go test ./inventory/index -count=1 -timeout 60m -run '^(TestWalk|TestTheIndexAgreesWithTheProvider)$$' -v -walk.long | grep -v '^=== '
	test/fuzz.sh 2m

# Without the walk, and without what needs a program beside Go, a shell and make: the
# harness leaves that out where it would start it, so that no list of tests has to name it.
# The other modules need Helm and Kubernetes.
quick: format-check ## what one runs while working, with Go, make and bash alone: seven minutes of processor time the first time, half of that after a change that every package needs
	go vet ./...
	PORTICO_QUICK=1 $(MEMORY) go test -skip '^(TestWalk|TestTheIndexAgreesWithTheProvider)$$' -timeout 10m -p 3 -parallel 4 $(UNIT)

prepare: ## what is needed beside the Go modules: a C compiler, curl, PostgreSQL, Prometheus, Chromium
	test/prepare.sh

lint: format-check tidy-check golangci ## all that reads the code without running it

format-check:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted by gofmt: $$unformatted"; exit 1; }

# With -e, as tidying also wants the tests of dependencies, and not every module
# that only those use can be had everywhere. For the same reason go.mod alone
# counts: what go.sum lists beyond what is built depends on what can be had; what it
# lacks of that, the build itself refuses.
tidy-check:
	@for m in $(MODULES); do \
		diff=$$(go mod tidy -C $$m -e -diff 2>/dev/null | awk '/^diff /{mod = /go\.mod$$/} mod' || true); \
		test -z "$$diff" || { echo "$$m: go mod tidy would change this:"; echo "$$diff"; exit 1; }; \
	done

vet:
	for m in $(MODULES); do go vet -C $$m ./...; done

# Neither vet nor staticcheck is part of lint: golangci-lint runs their checks too, with
# more of them switched on. A second time they take a minute each of a machine that has no
# caches.
staticcheck: .bin/.tools ## staticcheck's default checks alone
	for m in $(MODULES); do (cd $$m && $(CURDIR)/.bin/staticcheck ./...); done

golangci: .bin/.tools
	for m in $(MODULES); do (cd $$m && $(CURDIR)/.bin/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

unit: ## the packages' own tests, with the race detector where goroutines share something
	$(MEMORY) go test -skip '^(TestWalk|TestTheIndexAgreesWithTheProvider)$$' -timeout 15m -p 3 -parallel 4 $$(go list $(UNIT) | grep -E '$(UNRACED)')
	$(MEMORY) CGO_ENABLED=1 go test $(RACE) -timeout 15m -p 3 -parallel 4 $$(go list $(UNIT) | grep -v -E '$(UNRACED)')

walk: ## the index's protocol explored in full, the states counted: too much for the race detector
	RAPID_CHECKS=500 go test ./inventory/index -timeout 60m -run '^(TestWalk|TestTheIndexAgreesWithTheProvider)$$' -v | grep -v '^=== '

outside: ## the programs as their users meet them, some built with the race detector
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target --keep-going e2e protocol crowded

# Much of the time is spent waiting for what the programs are given time for: more
# of them at a time than processors.
e2e: programs ## whole stories, from the client to the store and the providers; every template of the corpus, deployed
	$(call PROGRAMS,test,configs docs test/garden test/issuer) $(MEMORY) go test -timeout 40m -parallel 6 ./test/e2e/... ./test/corpus/...

protocol: programs ## what goes over the wire, from clients and providers of all kinds
	$(call PROGRAMS,test,configs docs test/garden test/issuer) $(MEMORY) go test -timeout 40m -p 2 -parallel 4 $(PROTOCOL)

crowded: race-programs ## many callers, and gateways that die, reload and lose their store
	$(call PROGRAMS,race,configs docs test/garden test/issuer) $(MEMORY) go test -timeout 40m -p 2 -parallel 4 $(CROWDED)

sdk: programs ## the Azure SDK for Go as the client
	$(call PROGRAMS,test) $(MEMORY) go test -C test/sdk -timeout 15m ./...

# A client does little but wait, for Portico and for the time between two polls:
# more of them at a time than processors.
clients: ## what people use against Azure: the az CLI, Terraform, the Azure SDK for JavaScript
	test/clients/prepare.sh
	test/clients/js/prepare.sh
	go test ./test/clients -count=1 -timeout 20m -parallel 6

clients-js: ## of these, the Azure SDK for JavaScript alone
	test/clients/js/prepare.sh
	go test -count=1 -timeout 15m -run '^TestAzureSDKForJavaScript$$' ./test/clients

# The go command sees no files of another module, such as the chart.
deploy: programs ## what Portico is deployed with: image, chart, Compose file, unit, schema, releases
	$(call PROGRAMS,test,certify cmd configs deploy docs go.mod internal README.md) go test -C test/deploy -timeout 5m ./...
	$(call PROGRAMS,test,deploy go.mod) go test -C deploy/release -timeout 20m ./...

packaging: programs .bin/kube-apiserver ## the unit in a systemd that boots, the image by buildah, the chart at Kubernetes' API server: as root, a minute, and the first time a quarter of an hour to build that server; it installs the rest
	test/packaging/prepare.sh
	$(call PROGRAMS,test) go test ./test/packaging -count=1 -timeout 20m -v | grep -v '^=== '
	KUBE_APISERVER_BIN=$(CURDIR)/.bin/kube-apiserver go test -C test/deploy -tags apiserver -count=1 -timeout 10m -v -run APIServer . | grep -v '^=== '

.bin/kube-apiserver: test/packaging/apiserver/go.mod test/packaging/apiserver/go.sum test/packaging/apiserver/main.go
	@echo 'building the API server of Kubernetes into .bin (a quarter of an hour the first time)'
	go build -C test/packaging/apiserver -o $(CURDIR)/.bin/kube-apiserver .

dashboards: programs ## every panel's query and every alert, with a real Prometheus, within three minutes
	inputs=$$(test/inputs.sh deploy/prometheus test/dashboards/rules); PORTICO_INPUTS=$$inputs go test ./test/dashboards/rules
	$(call PROGRAMS,test,deploy docs) $(MEMORY) go test ./test/dashboards -timeout 10m -v | grep -v '^=== '

console: programs ## the console's pages in Chromium
	$(call PROGRAMS,test,docs) $(MEMORY) go test -C test/console -timeout 10m ./...

console-pictures: programs ## makes the pictures of docs/operations.md anew
	$(call PROGRAMS,test) go test -C test/console -count=1 -timeout 5m -run TestPictures . -write

pictures: ## the same, and writes the example of deploy/runbook.md with its pictures anew
	go test ./test/dashboards -count=1 -timeout 10m -run TestLive -write

chaos-short: programs ## 2,000 writes through two replicas and 6 kills, within three minutes
	$(call PROGRAMS,test) go test ./test/chaos -timeout 15m -v | grep -v '^=== '

chaos: programs ## 20,000 writes and 30 kills of gateways, a quarter of an hour
	$(call PROGRAMS,test) go test ./test/chaos -count=1 -timeout 60m -v -run TestChaos -chaos.long

evidence: programs ## what holds when what Portico stands on fails: blows at each failpoint, the store away and failing over, reloads, flapping addresses, scale; into docs/evidence.md: an hour
	test/prepare.sh evidence
	$(call PROGRAMS,test) $(MEMORY) go test ./test/blows -count=1 -timeout 60m -parallel 6 -v -blows.long -blows.write | grep -v '^=== '
	$(call PROGRAMS,test) $(MEMORY) go test ./test/reload -count=1 -timeout 30m -v -run TestMeasured -reload.long -reload.write | grep -v '^=== '
	$(call PROGRAMS,test) $(MEMORY) go test ./test/outage -count=1 -timeout 60m -v -outage.long -outage.write | grep -v '^=== '
	$(call PROGRAMS,test) $(MEMORY) go test ./test/scale -count=1 -timeout 60m -v -run 'TestScale|TestRoles' -scale.decades 4,5,6 -scale.assignments 1,2,3,4 -scale.write | grep -v '^=== '

scale: programs ## an estate of 10,000,000 resources over each engine, into docs/evidence.md: three quarters of an hour, and 40 GB for temporary files
	$(call PROGRAMS,test) go test ./test/scale -count=1 -timeout 240m -v -run TestScale -scale.decades 7 -scale.write | grep -v '^=== '

fuzz-short: ## 20,000 inputs to each fuzz target, if code of any has changed; longer, and guided by what they reach: test/fuzz.sh 10m
	test/once.sh "$$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | tr '\n' ' ')" test/fuzz.sh --plain 20000x

vuln: .bin/.tools ## known vulnerabilities, where their database can be reached
	test/vuln.sh

bench-short: ## that benchmarks still run, where their code has changed; what they measure here is not judged
	test/once.sh ./inventory/memory go test -timeout 10m -run '^$$' -bench '^BenchmarkCachedLookup' -benchtime 2000x -benchmem ./inventory/memory
	$(MEMORY) test/once.sh ./inventory go test -timeout 10m -run '^$$' -bench '^BenchmarkCreate' -benchtime 2x ./inventory
	$(MEMORY) test/once.sh ./inventory go test -timeout 10m -run '^$$' -short -bench '^BenchmarkScale' -benchtime 2x ./inventory
	test/once.sh ./test/bench go test -timeout 10m -run '^$$' -bench '^(BenchmarkWrite|BenchmarkObservation)' -benchtime 100x ./test/bench

bench: ## everything that is measured; PORTICO_BENCH_LONG=1 goes to 10 million rows
	go test -timeout 60m -run '^$$' -bench . -benchmem ./...

PEERS_ROUNDS ?= 5

bench-peers: ## Portico beside nginx, HAProxy, Caddy and ReverseProxy, into docs/performance.md: twelve minutes; PEERS_ROUNDS=2 takes five
	test/prepare.sh peers
	go test ./test/bench/compare -count=1 -timeout 20m -v -run '^TestPeers$$' -peers.rounds $(PEERS_ROUNDS) -peers.write

release: ## static programs for Linux and macOS with their components and checksums, into release/; each is built twice and compared
	go run -C deploy/release . --source $(CURDIR) --out $(CURDIR)/release --verify

clean:
	rm -rf .bin release

# One build for all of them, with the versions that test/tools/go.mod pins.
.bin/.tools: test/tools/go.mod test/tools/go.sum
	@echo 'building the linters into .bin (some minutes the first time)'
	go build -C test/tools -o ../../.bin/ tool
	@touch $@
