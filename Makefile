# What a person calls; `make help` lists it. test/Makefile has what these commands are made of,
# and the go command's flags, which are the same for all.

include test/Makefile
.DEFAULT_GOAL := build

.PHONY: build demo quick test test-long bench evidence release clean help

# Tests look for symbols in programs, so that only these are built without.
build: ## both programs, into .bin, without symbols, as releases are
	go build -ldflags='-s -w' -o .bin/ ./cmd/...

# Who tries it waits for the first build. Without optimizations that takes two thirds of the
# processor time, and nobody notices in a demo; but its program must not be taken for that of
# build.
demo: ## the gateway and three regions of the reference provider, in one process; DEMO=--tour for a tour
	@test -x .bin/demo/portico || echo 'building the demo into .bin/demo: a minute or two, the first time'
	@GOFLAGS=-trimpath GOGC=400 go build -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' -o .bin/demo/ ./cmd/portico 2>&1 | { grep -v '^go: downloading ' >&2 || true; }
	@.bin/demo/portico demo --sign-in 127.0.0.1:8082 $(DEMO)

# It leaves out the walk, and the tests that start a program beside Go, a shell and make: the
# harness skips these, so that no list has to name them. The other modules need Helm and
# Kubernetes.
quick: export GOGC := 400
quick: format-check ## tests to run while working; needs only Go, make and bash
	go vet ./...
	PORTICO_QUICK=1 $(MEMORY) go test -skip '^(TestWalk|TestTheIndexAgreesWithTheProvider)$$' -timeout 10m -p 3 -parallel 4 $(UNIT)

# What fails soonest comes first. Then suites that mostly wait run alongside work that needs
# only a processor.
test: ## everything that must pass before a change is taken in; installs what it needs
	@$(MAKE) --no-print-directory prepare
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target --keep-going suites beside
	@echo 'test: everything passed'

# The suites that `make test` runs with ordinary programs run here with those built with the
# race detector, and so do the packages that it tests without it.
test-long: export CGO_ENABLED := 1
test-long: programs race-programs ## the longer forms of the suites of test: an hour and a half
	$(MAKE) --no-print-directory chaos
	$(call PROGRAMS,race,configs docs test/garden test/issuer) $(MEMORY) go test -timeout 60m -parallel 4 -skip '^TestNormalBuildHasNoPoint$$' $(filter-out ./certify/%,$(OUTSIDE))
	$(call PROGRAMS,race) $(MEMORY) go test -C test/sdk -timeout 15m ./...
	$(call PROGRAMS,test) go test ./test/e2e -count=1 -timeout 30m -v -run '^(TestReloadUnderLoad|TestRestartsUnderLoad|TestGroupDeleteOfManyResources)$$' -e2e.long
	$(call PROGRAMS,test) go test ./test/hostile -count=1 -timeout 30m -v -run '^TestRawRequests$$' -raw.inputs 100000
	go test $(RACE) ./provider/certify/contract $$(go list $(UNIT) | grep -E '$(UNRACED)') -count=1 -timeout 30m
	RAPID_CHECKS=5000 go test ./inventory/index -count=1 -timeout 60m -run '^(TestWalk|TestTheIndexAgreesWithTheProvider)$$' -v -walk.long | grep -v '^=== '
	test/fuzz.sh 2m

bench: ## everything that is measured; PORTICO_BENCH_LONG=1 goes to 10 million rows
	go test -timeout 60m -run '^$$' -bench . -benchmem ./...

evidence: programs ## measures faults at each failpoint, of the store and during reloads, and scale, into docs/evidence.md and the READMEs beside the tests: an hour
	test/prepare.sh evidence
	$(call PROGRAMS,test) $(MEMORY) go test ./test/blows -count=1 -timeout 60m -parallel 6 -v -blows.long -blows.write | grep -v '^=== '
	$(call PROGRAMS,test) $(MEMORY) go test ./test/reload -count=1 -timeout 30m -v -run TestMeasured -reload.long -reload.write | grep -v '^=== '
	$(call PROGRAMS,test) $(MEMORY) go test ./test/outage -count=1 -timeout 60m -v -outage.long -outage.write | grep -v '^=== '
	$(call PROGRAMS,test) $(MEMORY) go test ./test/scale -count=1 -timeout 60m -v -run 'TestScale|TestRoles' -scale.decades 4,5,6 -scale.assignments 1,2,3,4 -scale.write | grep -v '^=== '

release: ## static programs for Linux and macOS with components and checksums, into release/; built twice and compared
	go run -C deploy/release . --source $(CURDIR) --out $(CURDIR)/release --verify

clean: ## removes .bin and release
	rm -rf .bin release

# Its recipe is in test/Makefile, which lists its own targets by it, too.
help: ## this list; for the parts of these: make -f test/Makefile help
