"""The fictional team of the demo: Larkspur, a small shop for paper and pens, and its code."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    name: str
    login: str
    machine: str

    @property
    def home(self) -> str:
        return f"/home/{self.login}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    name: str
    about: str
    tests: str
    paths: tuple[str, ...]
    nouns: tuple[str, ...]
    services: tuple[str, ...]
    table: str


PRIYA = Person(name="Priya Raman", login="priya", machine="priya-mbp")
JONAS = Person(name="Jonas Weber", login="jonas", machine="jonas-desk")
MEI = Person(name="Mei Castellanos", login="mei", machine="mei-laptop")
TOBIAS = Person(name="Tobias Okafor", login="tobias", machine="tobias-x1")
NIGHTLY = Person(name="the nightly agent", login="agent", machine="ci-runner-3")

LEDGER = Project(
    name="ledger-api",
    about="payments API: charges, refunds, payouts, webhooks (Python, PostgreSQL)",
    tests="pytest -q",
    paths=(
        "ledger/refunds/service.py",
        "ledger/refunds/models.py",
        "ledger/refunds/retry.py",
        "ledger/settlement/job.py",
        "ledger/settlement/batches.py",
        "ledger/webhooks/receive.py",
        "ledger/webhooks/dispatch.py",
        "ledger/payouts/service.py",
        "ledger/idempotency/keys.py",
        "ledger/money.py",
        "ledger/api/routes.py",
        "ledger/api/errors.py",
        "tests/test_refunds.py",
        "tests/test_webhooks.py",
        "tests/test_settlement.py",
    ),
    nouns=("refund", "payment", "payout", "charge", "dispute", "webhook", "transfer", "fee"),
    services=("ledger-api", "ledger-settlement", "ledger-webhooks"),
    table="refunds",
)

PIPELINE = Project(
    name="orders-pipeline",
    about="nightly data pipeline: orders, stock and revenue marts (Python, SQL)",
    tests="pytest -q",
    paths=(
        "pipeline/extract/orders.py",
        "pipeline/extract/stock.py",
        "pipeline/load/partitions.py",
        "pipeline/load/watermark.py",
        "pipeline/transform/fx.py",
        "pipeline/transform/dedupe.py",
        "pipeline/backfill.py",
        "models/staging/stg_orders.sql",
        "models/marts/fct_orders.sql",
        "models/marts/fct_revenue_daily.sql",
        "models/marts/dim_customer.sql",
        "schedules/nightly.yaml",
        "tests/test_watermark.py",
        "tests/test_dedupe.py",
    ),
    nouns=(
        "order",
        "partition",
        "watermark",
        "shipment",
        "customer",
        "rate",
        "snapshot",
        "backfill",
    ),
    services=("pipeline-worker", "pipeline-scheduler"),
    table="fct_orders",
)

SHOP = Project(
    name="storefront",
    about="the web shop: catalogue, cart, checkout (TypeScript)",
    tests="npx vitest run",
    paths=(
        "src/checkout/AddressForm.tsx",
        "src/checkout/PaymentStep.tsx",
        "src/checkout/useCheckout.ts",
        "src/cart/totals.ts",
        "src/cart/CartDrawer.tsx",
        "src/cart/discounts.ts",
        "src/catalogue/search.ts",
        "src/catalogue/ProductCard.tsx",
        "src/api/client.ts",
        "src/i18n/format.ts",
        "tests/checkout.spec.ts",
        "tests/cart.spec.ts",
        "styles/forms.css",
    ),
    nouns=("cart", "voucher", "discount", "price", "product", "coupon", "session", "order"),
    services=("storefront-web", "storefront-edge"),
    table="carts",
)

PLATFORM = Project(
    name="platform",
    about="infrastructure: clusters, networks, certificates, on-call runbooks (HCL, YAML)",
    tests="make validate",
    paths=(
        "terraform/network/main.tf",
        "terraform/cluster/nodes.tf",
        "terraform/database/postgres.tf",
        "terraform/dns/zones.tf",
        "k8s/ledger-api/deployment.yaml",
        "k8s/ingress/certificates.yaml",
        "k8s/storefront/deployment.yaml",
        "ci/pipeline.yaml",
        "scripts/rotate_keys.py",
        "scripts/cost_report.py",
        "runbooks/certificates.md",
        "runbooks/failover.md",
    ),
    nouns=("node", "certificate", "zone", "secret", "volume", "role", "quota", "replica"),
    services=("ingress", "cert-manager", "node-agent"),
    table="cost_lines",
)

PROJECTS = (LEDGER, PIPELINE, SHOP, PLATFORM)
