# SPDX-License-Identifier: Apache-2.0
#
# `make` lists the targets. Building and testing need Go and make and nothing
# else; the race detector also needs a C compiler.

# Go tools are modules of their own under tools/: none of their dependencies
# reaches the product's go.mod.
CONTROLLER_GEN := go tool -modfile=$(CURDIR)/tools/controller-gen/go.mod controller-gen
GOLANGCI_LINT  := go tool -modfile=$(CURDIR)/tools/golangci-lint/go.mod golangci-lint
HELM           := go tool -modfile=$(CURDIR)/tools/helm/go.mod helm
PROMTOOL       := go run -modfile=$(CURDIR)/tools/promtool/go.mod -tags=remove_all_sd github.com/prometheus/prometheus/cmd/promtool

CHART        := charts/noderotation
CRDS         := $(CHART)/crds
INSTALL      := test/e2e/manifests/install.yaml
CODE_MODULES := . $(patsubst %/go.mod,%,$(wildcard test/*/go.mod test/*/*/go.mod))
MODULES      := $(CODE_MODULES) $(patsubst %/go.mod,%,$(wildcard tools/*/go.mod))

# No C compiler is needed but for the race detector, and one way of compiling keeps one cache.
export CGO_ENABLED := 0

# VERSION is linked into the image's binary; without one it tells the version that Go knows. IMAGE names the image, and
# IMAGE_BUILDER builds it from a Dockerfile: buildah, or docker, or podman. ARCH is the architecture of the nodes that it
# shall run on, whatever the machine that builds it: amd64 or arm64.
VERSION       :=
IMAGE         := noderotation:$(or $(VERSION),dev)
IMAGE_BUILDER := buildah
ARCH           = $(shell go env GOARCH)

# PACKAGES narrows test and test-race: make test PACKAGES=./window
PACKAGES := ./...

# E2E_JUDGES are the packages of the end-to-end suite that need no cluster.
E2E_JUDGES = $$(go -C test/e2e list ./... | grep -v '/e2e$$')

# E2E_CLUSTERS is how many scenarios run at once, each on a cluster of its own: most of their time is waiting.
E2E_CLUSTERS := 2

# compile builds all that the tests need, and says how far it is: `go test` is
# silent while it compiles, which takes minutes when the cache is cold. It is
# no check: what doesn't compile is reported by the `go test` that follows.
define compile
@packages=$$(go list -deps -test $(PACKAGES) | grep -v -e ' ' -e '\.test$$'); \
total=$$(echo "$$packages" | wc -l); \
echo "==> compiling what is not cached of $$total packages"; \
go build $(1) -v $$packages 2>&1 | awk -v total=$$total '++n % 50 == 0 { print "    " n " of at most " total " packages"; fflush() }'
endef

.DEFAULT_GOAL := help

##@ The product

.PHONY: build
build: ## Build bin/noderotation, a static binary.
	@echo "==> building bin/noderotation"
	CGO_ENABLED=0 go build -o bin/noderotation ./cmd/noderotation

.PHONY: image-binary
image-binary:
	@echo "==> building bin/image/noderotation $(VERSION) for linux/$(ARCH)"
	GOOS=linux GOARCH=$(ARCH) go build -ldflags "-s -w $(if $(VERSION),-X main.version=$(VERSION))" -o bin/image/noderotation ./cmd/noderotation

.PHONY: image
image: image-binary ## Build a container image with IMAGE_BUILDER; VERSION, IMAGE and ARCH may be set.
	$(IMAGE_BUILDER) build --platform linux/$(ARCH) --file Dockerfile --tag $(IMAGE) bin/image

.PHONY: run
run: build ## Run the controller against the current kubeconfig; flags in ARGS.
	bin/noderotation controller $(ARGS)

.PHONY: demo
demo: build ## Simulate sixty days of a sample fleet in seconds; needs no cluster.
	bin/noderotation simulate examples/healthy --for 60d $(ARGS)

.PHONY: demo-cluster
demo-cluster: build ## Watch a sample fleet being rotated on a cluster of its own; flags in ARGS.
	@echo "==> building the demonstration"
	@CGO_ENABLED=0 go -C test/e2e run ./demo -controller $(CURDIR)/bin/noderotation $(ARGS)

##@ Tests

.PHONY: test
test: export CGO_ENABLED = 0
test: ## Run every test that needs no cluster.
	$(call compile)
	@echo "==> testing $$(go list $(PACKAGES) | wc -l) packages"
	go test -timeout 30m $(PACKAGES)

# The explorer makes millions of passes over code that the other packages race: a minute's work without the detector, and
# a quarter of an hour's with it. What its workers share is raced by a short exploration.
.PHONY: test-race
test-race: export CGO_ENABLED = 1
test-race: ## Run the same tests, of the explorer a short one, and the end-to-end suite's own, under the race detector; needs a C compiler.
	$(call compile,-race)
	@echo "==> testing $$(go list $(PACKAGES) | grep -v /sim/explore | wc -l) packages under the race detector"
	@go list $(PACKAGES) | grep -v /sim/explore | xargs -r go test -race -timeout 30m
	@go list $(PACKAGES) | grep /sim/explore | xargs -r go test -race -timeout 30m -run '^TestSeveralWorkersFindWhatOneFinds$$'
ifeq ($(PACKAGES),./...)
	@echo "==> testing what the end-to-end suite judges by under the race detector"
	go -C test/e2e test -race $(E2E_JUDGES)
endif

# The states that have yet to be expanded are kept in memory: with these settings in 12 GiB.
.PHONY: explore
explore: export GOGC ?= 70
explore: export GOMEMLIMIT ?= 12GiB
explore: build ## Explore what can happen to a rotation, and go wrong in it, for an hour.
	bin/noderotation table explore --states 10000000 --for 1h $(ARGS)

.PHONY: e2e
e2e: export CGO_ENABLED = 0
e2e: export NODEROTATION_BINARY = $(CURDIR)/bin/noderotation
e2e: build cluster-bin helm ## Run the suite on a real control plane with a real Karpenter; flags of Ginkgo in ARGS, such as --seed=1.
	@echo "==> testing what the suite judges by"
	go -C test/e2e test $(E2E_JUDGES)
	@echo "==> running the end-to-end suite on $(E2E_CLUSTERS) clusters side by side"
	go -C test/e2e run github.com/onsi/ginkgo/v2/ginkgo run -v --procs=$(E2E_CLUSTERS) --timeout=60m --fail-on-pending $(ARGS) .

.PHONY: test-report
test-report: build ## Look at the simulation's HTML report in headless Chromium, which must be installed.
	@echo "==> opening reports in Chromium; screenshots go to bin/report"
	go -C test/report test -count=1 . $(ARGS)

.PHONY: test-image
test-image: ## Run the image's binary in an empty root, as the image's user; as root, or where user namespaces are allowed.
	@$(MAKE) --no-print-directory image-binary VERSION=v0.0.0-test
	@echo "==> running it where nothing else is"
	NODEROTATION_BINARY=$(CURDIR)/bin/image/noderotation NODEROTATION_VERSION=v0.0.0-test NODEROTATION_ARCH=$(ARCH) \
		go -C test/image test -count=1 . $(ARGS)

# Compiling helm takes minutes the first time, and those who run it don't say so.
.PHONY: helm
helm:
	@echo "==> compiling helm if it is not cached: minutes the first time"
	@$(HELM) version --short

.PHONY: test-chart
test-chart: helm test-alerts ## Lint and render the Helm chart with several sets of values, and decode every object.
	@echo "==> rendering $(CHART)"
	HELM=$$($(subst go tool,go tool -n,$(HELM))) go -C test/chart test -count=1 ./... $(ARGS)

.PHONY: test-alerts
test-alerts: ## Try the chart's alerts on series, and have the dashboard's queries parsed.
	@echo "==> compiling promtool if it is not cached: 5 to 15 minutes the first time"
	@$(PROMTOOL) --version
	@echo "==> trying the alerts"
	$(PROMTOOL) check rules --lint=all --lint-fatal $(CHART)/files/alerts.yaml
	$(PROMTOOL) test rules test/alerts/*.yaml
	@mkdir -p bin
	go run ./test/alerts/queries > bin/dashboard-queries.yaml
	$(PROMTOOL) check rules bin/dashboard-queries.yaml
	go test ./test/alerts/...

.PHONY: cluster-bin
cluster-bin: ## Build the cluster's binary: about 20 minutes the first time, then cached.
	@echo "==> building the cluster's binary"
	go -C test/cluster run ./cmd/cluster build

.PHONY: test-cluster
test-cluster: cluster-bin ## Test the cluster that the end-to-end suite runs on; it also serves envtest.
	@echo "==> starting clusters, and making trouble in them: one to two minutes"
	go -C test/cluster test -count=1 -timeout 15m ./... $(ARGS)

##@ Generated files

.PHONY: generate
generate: generate-deepcopy generate-crd generate-chart generate-docs ## Regenerate every generated file.

.PHONY: generate-deepcopy
generate-deepcopy:
	@echo "==> generating api/v1alpha1/zz_generated.deepcopy.go"
	$(CONTROLLER_GEN) object paths=./api/...

.PHONY: generate-crd
generate-crd:
	@echo "==> generating $(CRDS)"
	rm -f $(CRDS)/*.yaml
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=$(CRDS)

# What the end-to-end suite installs is what the chart renders, but for Pods that have nothing to run on there.
.PHONY: generate-chart
generate-chart: helm
	@echo "==> generating $(INSTALL) and $(CHART)/README.md"
	@{ echo "# Generated from $(CHART) by 'make generate'. Do not edit."; \
	$(HELM) template noderotation $(CHART) --namespace noderotation-system --set image.repository=unused \
		$(foreach template,serviceaccount priorityclass rbac admissionpolicy,--show-only templates/$(template).yaml); \
	} > $(INSTALL).partial && mv $(INSTALL).partial $(INSTALL)
	go -C test/chart run ./readme $(CURDIR)/$(CHART)

.PHONY: generate-docs
generate-docs:
	@echo "==> generating the documents"
	CGO_ENABLED=0 go run ./cmd/documents

.PHONY: verify-generate
verify-generate: ## Fail if a generated file is stale; changes nothing.
	@echo "==> regenerating a copy of the tree, to compare"
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	mkdir "$$copy/is" && \
	tar -cf - --exclude=./.git --exclude=./.cache --exclude=./bin . | tar -xf - -C "$$copy/is" && \
	cp -R "$$copy/is" "$$copy/should-be" && \
	$(MAKE) --no-print-directory -C "$$copy/should-be" generate && \
	if (cd "$$copy" && diff -ru is should-be); then \
		echo "generated files are up to date"; \
	else \
		echo "generated files are stale: run 'make generate' and commit the result" >&2; exit 1; \
	fi

.PHONY: verify-modules
verify-modules: ## Fail if a go.mod or go.sum is not tidy; changes nothing.
	@for module in $(MODULES); do \
		echo "==> checking that $$module/go.mod is tidy"; \
		go -C $$module mod tidy -diff || { echo "run 'go -C $$module mod tidy' and commit the result" >&2; exit 1; }; \
	done

##@ Form

.PHONY: lint
lint: ## Run golangci-lint over the product and the modules under test/.
	@echo "==> compiling golangci-lint if it is not cached: minutes the first time"
	@$(GOLANGCI_LINT) version
	@for module in $(CODE_MODULES); do \
		echo "==> linting $$module"; \
		(cd $$module && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...) || exit 1; \
	done

.PHONY: clean
clean: ## Remove what was built, but for the cluster's binary in .cache.
	rm -rf bin

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
