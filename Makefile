# Everything that a newcomer or CI runs. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

# Exported: a shell reads the text as it is.
export JOB ?= digits
export RANKS ?= 2
export ARGS ?=
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Python writes bytecode, whatever the machine says: every process would compile the AWS CDK, for 6 of its 8 seconds.
export PYTHONDONTWRITEBYTECODE :=

CDK := .setup/cdk.done
TRAINING := .setup/training.done
SCAN := .setup/scan.done
DEPLOY := .setup/deploy.done
TORCH := .setup/torch.done
TORCH_CONFORMANCE := .setup/torch-conformance.done
DOCS := .setup/docs.done

# Programs of an environment contain the folder's path, which the first step has written.
BEFORE := $(filter-out $(realpath .setup),$(file <$(CDK)))
ifneq ($(BEFORE),)
ifeq ($(filter clean help,$(MAKECMDGOALS)),)
$(error this folder was $(BEFORE:/.setup=), and was renamed or copied; \
run 'rm -rf .venv .venv-* .setup/*.done', then make again)
endif
endif

# A word that is no target ends make before it installs anything, such as the name of a recipe.
TARGETS := $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' Makefile)
UNKNOWN := $(filter-out $(TARGETS) .setup/%,$(MAKECMDGOALS))
ifneq ($(UNKNOWN),)
$(error '$(UNKNOWN)' is not a target; 'make help' lists them$(if $(filter run-local,$(MAKECMDGOALS)),; \
a recipe is a variable: 'make run-local JOB=$(firstword $(UNKNOWN))'))
endif

##@ First run

# The CDK side first: without Python 3.11, which only the training side needs, stacks and jobs still work.
quickstart: setup-cdk synth jobs setup-training run-local summary ## From a clone to synthesized stacks and a trained model

setup: setup-cdk setup-training ## Install everything into this folder
setup-cdk: $(CDK) ## Install the CDK side: uv, Python packages, Node.js, the AWS CDK CLI
setup-training: $(TRAINING) ## Install the training side: TensorFlow, Open MPI, Horovod
setup-torch: $(TORCH) ## Install PyTorch, with its libraries for GPUs; 3 GB
setup-scan: $(SCAN) ## Install the scanners: cfn-lint, checkov
setup-deploy: $(DEPLOY) ## Install the emulator of AWS: ministack
setup-docs: $(DOCS) ## Install the generator of the site: Sphinx

# Each script writes its file last: what needs the file waits for a complete environment.
$(CDK): setup/preflight.sh setup/common.sh setup/cdk.sh setup/cdk_program.sh requirements/uv.txt requirements/cdk.txt \
		requirements/node.txt package-lock.json pyproject.toml
	@setup/cdk.sh

$(TRAINING): setup/common.sh setup/training.sh setup/horovod.cmake requirements/training.txt requirements/horovod.txt \
		requirements/mpi.txt training/pods/horovodrun.py | $(CDK)
	@setup/training.sh

# Beside the training side, whose Python it takes: it is of the version of the lock.
$(TORCH): setup/common.sh setup/torch.sh requirements/torch.txt training/pods/torchrun.py | $(TRAINING)
	@setup/torch.sh

# In .venv-torch, which setup/torch.sh may create anew.
$(TORCH_CONFORMANCE): setup/common.sh setup/torch_conformance.sh requirements/torch-conformance.txt $(TORCH)
	@setup/torch_conformance.sh

$(SCAN): setup/common.sh setup/scan.sh requirements/scan.txt | $(CDK)
	@setup/scan.sh

$(DEPLOY): setup/common.sh setup/deploy.sh requirements/deploy.txt | $(CDK)
	@setup/deploy.sh

# In .venv, which setup/cdk.sh may create anew.
$(DOCS): setup/common.sh setup/docs.sh requirements/docs.txt $(CDK)
	@setup/docs.sh

synth: $(CDK) ## Synthesize TrainingDataStack and TrainingClusterStack into cdk.out/
	@echo "==> cdk synth: both stacks into cdk.out/"
	@cdk synth --quiet

jobs: $(CDK) ## Render every job into dist/jobs/, and the platform that they need into dist/platform/
	@echo "==> trainctl render: the jobs into dist/jobs/, the platform that they need into dist/platform/"
	@trainctl render >/dev/null
	@trainctl platform render >/dev/null

# Before the installation: a name of an installed package is known behind it only.
known-job:
	@[ -f $(TRAINING) ] || [ -e recipes.py ] || [ -e "$$JOB" ] || [ -e "dist/jobs/$$JOB.k8s.yaml" ] || grep -qs "^    \"$$JOB\":" $(RECIPES) || \
		{ echo "error: JOB is '$$JOB', but it is neither a recipe nor a file; give one of" \
		$$(sed -n 's/^    "\([a-z0-9-]*\)": "training_workloads.*/\1/p' $(RECIPES)) >&2; exit 2; }
RECIPES := workloads/training_workloads/recipes/built_in.py

run-local: known-job $(TRAINING) ## Run a recipe, a manifest or a script on this machine, on the CPU (JOB=digits RANKS=2 ARGS="--epochs 3")
	@echo "==> trainctl run-local: $$JOB on this machine, $$RANKS ranks on the CPU"
	@[ ! -f "runs/$$JOB/results.json" ] || echo "runs/$$JOB/ has a finished run; 'rm -r runs/$$JOB' first to train again"
	@rendered="dist/jobs/$$JOB.k8s.yaml"; [ -f "$$rendered" ] || rendered=$$JOB; \
		trainctl run-local "$$rendered" --ranks "$$RANKS" $${ARGS:+-- $$ARGS}

summary: $(CDK) ## Show the results and the next commands
	@python setup/summary.py "$$JOB"

##@ Development

test: test-cdk test-training ## Run every fast test
# More workers than cores: tests wait for programs, hosts and limits.
# `make types` runs the test of the types that users see, where mypy knows those of the CDK.
TEST_CDK = python -m pytest --ignore=tests/training --ignore=tests/containers --ignore=tests/deploy \
	--ignore=$(USER_TYPES) --dist loadfile -n 3
test-cdk: $(CDK) ## Run the fast tests of stacks, constructs and workloads
	@$(TEST_CDK)
TEST_TRAINING = .venv-training/bin/python -m pytest tests/training --ignore=tests/training/mask_rcnn/long_runs \
	$(addprefix --ignore=tests/training/,lightning torch torch_imagenet transformers) --dist loadfile
test-training: $(TRAINING) ## Run the fast tests of the training code
	@$(TEST_TRAINING) -n 4 -m "not whole_run"
test-runs: $(TRAINING) ## Convert and train, on two ranks; stop, kill and resume the programs
	@$(TEST_TRAINING) -n 2 -m whole_run

test-conformance: $(CDK) $(TRAINING) $(TORCH_CONFORMANCE) ## Kill scripts of Keras, Horovod and PyTorch, and write the table of verdicts (KILLS=200, SEED=7)
	@python -m tests.conformance $(if $(KILLS),--kills "$$KILLS") $(if $(SEED),--seed "$$SEED")

# Each suite of test-long is a target whose comment is its line in the list.
SUITES := $(shell sed -n 's/^long-\([a-z-]*\):.*/\1/p' Makefile)
WANTED := $(if $(filter-out $(SUITES),$(SUITE)),,$(addprefix long-,$(SUITE)))
test-long: $(or $(WANTED),list-suites) ## Run long suites, which have their own needs (SUITE=deploy, or several); without SUITE, list them

list-suites:
	@echo "error: SUITE is $(if $(SUITE),'$$SUITE',missing); give one or several of these, such as SUITE=deploy:" >&2
	@awk -F ':.*#: ' '/^long-[a-z-]+:.*#: / {printf "  %-14s %s\n", substr($$1, 6), $$2}' $(MAKEFILE_LIST) >&2
	@exit 2

long-containers: $(CDK) #: Run jobs in containers as the operator does, and kill a worker (needs root; podman)
	@setup/containers.sh
	@python -m pytest tests/containers -rs
long-deploy: $(CDK) $(DEPLOY) #: Deploy, change, break and destroy five configurations on an emulator of AWS
	@python -m pytest tests/deploy -x -v --durations=0 --durations-min=5
INJECT = -m tests.faults $(if $(SEED),--seed "$$SEED") $(if $(FAULTS),--faults "$$FAULTS")
long-faults: $(TRAINING) #: Inject faults into runs of ResNet-50 and Mask R-CNN (SEED=7, FAULTS=1000, LIVES=killed-3; a full disk needs root)
	@.venv-training/bin/python $(INJECT) $${LIVES:-}
long-fresh: #: Quickstart and test in a bare Debian 12 with 12 GB of disk, as a user without root (needs root; debootstrap)
	@setup/fresh.sh
long-image: $(CDK) #: Build the image for GPUs from packages, and test it without a GPU (needs root; podman)
	@setup/containers.sh
	@python -m pytest tests/containers/gpu_image.py -rs
long-mask-rcnn: $(TRAINING) #: Kill, resume and evaluate tiny runs of Mask R-CNN on two ranks
	@.venv-training/bin/python -m pytest tests/training/mask_rcnn/long_runs
long-torch: $(TRAINING) $(TORCH) #: Train with PyTorch on two ranks, kill, stop and resume them; and its unit tests
	@.venv-torch/bin/python -m pytest tests/training/torch tests/training/torch_imagenet \
		--ignore=tests/training/torch_imagenet/long_runs
long-torch-elastic: $(CDK) $(TRAINING) $(TORCH) #: Lose and start nodes and stores of torchrun, c10d and etcd (needs root; etcd needs Debian)
	@setup/etcd.sh
	@.venv-torch/bin/python -m pytest tests/training/torch_imagenet/long_runs -rs
long-torch-faults: $(CDK) $(TRAINING) $(TORCH) #: Inject faults into runs with PyTorch (SEED=7, FAULTS=200, LIVES=store-1; a full disk needs root)
	@.venv-torch/bin/python $(INJECT) --torch $${LIVES:-}
long-torch-image: $(CDK) #: Build the image with PyTorch from packages, and test it without a GPU (needs root; podman)
	@setup/containers.sh
	@python -m pytest tests/containers/torch_image.py -rs

check: lint types scan audit docs test test-runs ## Everything that CI checks
lint: $(CDK) ## Check style and formatting, and the Dockerfiles
	@ruff check
	@ruff format --check
	@hadolint training/Dockerfile training/torch.Dockerfile training/cuda/base.Dockerfile \
		workloads/training_workloads/project/*/Dockerfile
USER_TYPES := tests/test_public_types.py
types: $(CDK) $(TRAINING) ## Check types: of the CDK side, of the training side with its interpreter, and those that users see
	@mypy
	@mypy --cache-dir .mypy_cache/training --follow-imports silent --python-executable .venv-training/bin/python \
		--exclude '^benchmarks/(bare_vpc/|lint_recall|synth_time)' training tests/training tests/faults benchmarks \
		workloads/training_workloads/project/horovod/train.py
	@python -m pytest -q $(USER_TYPES)
scan: $(CDK) $(SCAN) ## Scan templates and manifests: cdk-nag, cfn-lint, checkov
	@echo && echo "==> scanning the templates of every configuration, and every manifest"
	@python -m scan

audit: $(CDK) ## Compare the locks with scan/advisories.json; a vulnerability that is not accepted is an error
	@python -m scan.audit
advisories: $(CDK) ## Write scan/advisories.json from OSV's exports, which it downloads
	@mkdir -p .scan/osv
	@for ecosystem in PyPI npm; do curl --fail --silent --show-error --location --output .scan/osv/$$ecosystem.zip \
		https://osv-vulnerabilities.storage.googleapis.com/$$ecosystem/all.zip; done
	@python -m scan.advisories .scan/osv/PyPI.zip .scan/osv/npm.zip

docs: $(CDK) $(DOCS) ## Build the site into dist/docs/; a broken link, an old picture or cut code is an error
	@echo "==> docs/pictures/, docs/lint-rules.md, docs/plan-validation.md: compared with the code"
	@python -m docs.site.pictures --check
	@python -m docs.site.property_tables --check
	@echo "==> sphinx: the site into dist/docs/"
	@rm -rf dist/docs
	@python -m sphinx -b html -W --keep-going -E -q -c docs -d .setup/doctrees . dist/docs
	@python -m docs.site.rendered dist/docs
pictures: $(CDK) ## Draw docs/pictures/, write docs/lint-rules.md and docs/plan-validation.md, from graphs and code
	@python -m docs.site.pictures
	@python -m docs.site.property_tables
change-effects: $(CDK) ## Write docs/what-a-change-does.md after a change of tests/stacks/changes.py or of a rule of the plan; 2 minutes
	@python -m tests.stacks.effects_page
pod-types: $(CDK) ## Record the fields of a pod template for the MPIJob definition, after a new MPI operator
	@python -m setup.record_pod_types
outdated: $(CDK) ## List what in the catalog is older than its source, or was read long ago (DAYS=90)
	@python -m setup.outdated $(if $(DAYS),--days "$$DAYS")

bench: $(CDK) $(TRAINING) ## Measure one and two ranks of the digits and of ResNet-50 on this machine, three times each, into dist/bench/
	@.venv-training/bin/python -m training.imagenet.digit_shards --output-dir dist/bench-data/data/imagenet
	@trainctl bench run examples/bench/digits_local.yaml --results dist/bench --volumes dist/bench-data
	@trainctl bench run examples/bench/resnet50_local.yaml --results dist/bench --volumes dist/bench-data
bench-synth: $(CDK) ## Compare cdk synth with that of an app with one VPC; the limit is 2 x
	@python benchmarks/synth_time.py
bench-lint: $(CDK) ## Count how many of 578 mistakes the lint finds; the limit is 85 % in each set; 30 seconds
	@python -m benchmarks.lint_recall
bench-scaling: $(TRAINING) ## Compare two ranks of ResNet-50 on the CPU with one; the limit is 1.9 x; 6 minutes, 16 GB
	@.venv-training/bin/python -m benchmarks.scaling
bench-accuracy: $(TRAINING) ## Train ResNet-50 on the digits as JPEG TFRecords; the limit is 0.95 within 10 minutes
	@.venv-training/bin/python -m benchmarks.accuracy
bench-torch-scaling: $(TRAINING) $(TORCH) ## The same as bench-scaling, with PyTorch
	@.venv-training/bin/python -m benchmarks.scaling --torch
bench-torch-accuracy: $(TRAINING) $(TORCH) ## The same as bench-accuracy, with PyTorch
	@.venv-training/bin/python -m benchmarks.accuracy --torch
bench-gpu: $(TRAINING) $(TORCH) ## Train ResNet-50 with PyTorch on one GPU, from noise and from JPEG images, up to the largest batch
	@.venv-torch/bin/python -m benchmarks.gpu
train-shapes: $(TRAINING) ## Train a small Mask R-CNN on made shapes; box AP50 0.90, mask AP50 0.85 within 20 minutes, and a picture
	@.venv-training/bin/python -m benchmarks.shapes_accuracy
bench-input: $(TRAINING) ## Compare the input of ImageNet with the naive one and with the JPEG decoder; 2 minutes
	@.venv-training/bin/python -m benchmarks.input_speed
bench-roi-align: $(TRAINING) ## Compare ROI align and a step of Mask R-CNN with the usual operations; 2 minutes
	@.venv-training/bin/python -m benchmarks.mask_rcnn_formulations

sbom: $(CDK) ## Write bills of materials of wheel and images, CycloneDX, into dist/sbom/ (BUILD_ARGS="EFA_INSTALLER_VERSION=…")
	@python -m scan.sbom $(addprefix --build-arg ,$(BUILD_ARGS))

wheel: $(CDK) ## Build the package and the library exact_resume as wheels into dist/
	@python -m hatchling build -t wheel -d dist
	@cd training && python -m hatchling build -t wheel -d ../dist

snapshots: $(CDK) ## Update the snapshots; review the diff before you commit
	@$(TEST_CDK) --snapshot-update

lock: $(CDK) ## Compile the lock files, with hashes and without index addresses
	@for group in mpi torch torch-cuda12 training; do $(LOCK) --group $$group -o requirements/$$group.txt; done
	@$(LOCK) --group torch-conformance --constraint requirements/torch.txt -o requirements/torch-conformance.txt
	@$(LOCK) --group dali --constraint requirements/training.txt -o requirements/dali.txt
	@for group in cuda horovod; do $(LOCK) --group $$group --no-deps -o requirements/$$group.txt; done
	@for group in deploy node scan uv; do $(LOCK) --universal --group $$group -o requirements/$$group.txt; done
	@$(LOCK) --universal pyproject.toml --extra jobs --extra cli --extra charts --group dev -o requirements/cdk.txt
	@$(LOCK) --universal --group docs --constraint requirements/cdk.txt -o requirements/docs.txt
	@npm install --package-lock-only
# The training side is Python 3.11; --universal: that and every newer one.
LOCK = uv pip compile --quiet --upgrade --generate-hashes --custom-compile-command 'make lock' --python-version 3.11

clean: ## Remove the output of all other targets, except runs/ with its checkpoints and results
	rm -rf .venv .venv-deploy .venv-scan .venv-torch .venv-training .setup .scan .tmp node_modules cdk.out dist \
		.hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './runs/*' -not -path './data/*' -prune -exec rm -r {} +

help: ## Show this list
	@awk -F ':.*## ' '/^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: known-job quickstart setup setup-cdk setup-training setup-scan setup-deploy setup-docs setup-torch synth jobs run-local summary \
	test test-cdk test-training test-runs test-conformance test-long list-suites $(addprefix long-,$(SUITES)) check lint types scan audit advisories docs \
	pictures change-effects pod-types bench bench-synth bench-input bench-lint bench-scaling bench-accuracy bench-torch-scaling \
	bench-torch-accuracy bench-gpu bench-roi-align train-shapes wheel sbom snapshots lock outdated clean help
