"""Infrastructure: a locked state, a key in a build log, an upgrade, a certificate, a bill."""

from sessions_app.ingest.demo.cast import PLATFORM, TOBIAS
from sessions_app.ingest.demo.story import Story

_LOCK = """§user
Add a second node pool for the pipeline workers, spot machines, zero to six.
§work 18
§bash! terraform plan
Error: Error acquiring the state lock

  ID:        6d1f2a90
  Who:       ana@ana-air
  Operation: OperationTypeApply
  Created:   three hours ago

Another operation holds the lock.
§say
Ana's apply holds the lock since three hours. I do not force-unlock: if her apply is still running,
that would let two of us write the state. Can you ask her?
§user
She closed her laptop in the middle of it. She says nothing is running, go ahead.
§bash terraform force-unlock -force 6d1f2a90
Terraform state has been successfully unlocked!
§work 15
§edit terraform/cluster/nodes.tf
# pipeline workers run on the general pool
===
resource "cloud_node_pool" "pipeline_spot" {
  cluster  = cloud_cluster.main.id
  spot     = true
  min_size = 0
  max_size = 6
}
§bash terraform plan
Plan: 1 to add, 0 to change, 0 to destroy.
§say
One to add, nothing else. I leave the apply to you.
"""

_LEAK = """§system
You help the platform team. Never print secrets; if you see one, say so at once.
§user
The upload step of the nightly build fails since yesterday. Have a look at its log.
§bash ci logs nightly --step upload
+ set -x
+ export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
+ AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
+ export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
+ ./upload.sh dist/
upload failed: dist/app.tar.gz: An error occurred (SlowDown): Please reduce your request rate.
§say
Stop: **this log shows an access key and its secret in clear text.** Someone added `set -x` to find
the upload error, and the shell now prints each command, the exports too. Everyone who can read
build logs can read the key, and it is in this session's log as well.

In this order: revoke the key, remove `set -x`, delete the logs since yesterday, then look at the
upload.
§user
Agreed. I revoke it now. You do the rest.
§work 13
§edit ci/pipeline.yaml
      - run: set -x; ./upload.sh dist/
===
      - run: ./upload.sh dist/
§bash ci logs delete nightly --since 2d
deleted 3 logs
§say
`set -x` is gone, three logs are deleted. Was the key used by anyone else in the meantime?
§bash cloud audit --key AKIAIOSFODNN7EXAMPLE --since 2d
38 events, all from ci-runner-3, all s3:PutObject
§user
Good. New key is in the secret store. And the upload itself?
§work 15
§say
The upload sent 4,000 files at once and was throttled. It now sends eight at a time and waits longer
after each refusal. The nightly build is green.
"""

_UPGRADE = """§user
Upgrade the cluster from 1.33 to 1.34. Staging first. Tell me before anything that drains nodes.
§think
Check removed APIs first, then disruption budgets, then staging.
§work 26
§bash kubectl get poddisruptionbudgets -A
NAMESPACE   NAME             MIN AVAILABLE   ALLOWED DISRUPTIONS   AGE
payments    ledger-api       2               0                     211d
shop        storefront-web   1               2                     211d
§say
`ledger-api` wants two available and has two replicas: zero disruptions allowed, so a drain would
wait forever. It needs a third replica for the time of the upgrade.
§edit k8s/ledger-api/deployment.yaml
  replicas: 2
===
  replicas: 3
§trouble
API Error: 529 overloaded
§work 31
§compact
Upgrading 1.33 to 1.34, staging first. No removed API in use. ledger-api was scaled from 2 to 3
replicas so that its disruption budget allows a drain; scale back afterwards. Staging is done and
healthy. Tobias wants to be told before any drain in production.
§user
Production now. Go.
§say
I start draining production, one node at a time.
§work 26
§bash! kubectl drain node-7 --ignore-daemonsets --timeout=300s
error: unable to drain node "node-7": cannot delete Pods that declare no controller: \
data/debug-jonas
§say
A bare pod `debug-jonas` sits on node-7; draining would delete it for good. I have not used --force.
§user
Jonas says it can go.
§bash kubectl delete pod -n data debug-jonas && kubectl drain node-7 --ignore-daemonsets
pod "debug-jonas" deleted
node/node-7 drained
§work 20
§say
All nine nodes are on 1.34. ledger-api is back at two replicas. The certificate job logged a warning
about its account on the new version; worth a look this week.
§user
Noted.
"""

_CERTIFICATE = """§system
You are on call with the platform team. Be brief.
§user
05:20, paged: TLS errors on hooks.larkspur.example. What is it?
§bash openssl s_client -connect hooks.larkspur.example:443 </dev/null 2>/dev/null | openssl x509 \
-noout -enddate
notAfter: today 02:10 UTC
§say
The certificate of the ingress expired at 02:10. Renewal was due thirty days ago.
§bash kubectl logs -n ingress deploy/cert-manager --tail 3
E account "ops@larkspur.example" not found, will retry
E account "ops@larkspur.example" not found, will retry
E account "ops@larkspur.example" not found, will retry
§scrap
{"role":"tool","content":"\x00\x00\x00\x00\x00\xff\xfe\x00\x00 ingress-7\x00\x00
§say
It cannot find its account, and has not been able to for weeks; yesterday's upgrade only showed the
warning again. (One line of this log was damaged when node-4 ran out of disk.) I register the
account anew and ask for a certificate.
§wait 23
§bash kubectl apply -f k8s/ingress/certificates.yaml && kubectl get certificate -n ingress
NAME    READY   AGE
hooks   True    41s
§say
05:48, valid for ninety days. Note for the payments team: the provider will now deliver everything
again that failed since 02:10.
§user
Thanks. I tell Priya when she is up.
§work 22
§say
runbooks/certificates.md has a new first step: an alert twenty days before expiry.
"""

_COSTS = """§system
You help the platform team. Money is in euros.
§user
The bill is 18 % up. Where does it come from?
§work 24
§bash python scripts/cost_report.py --compare last-month
service            last     this   change
database          812.40   815.10     +2.70
machines         2104.00  2190.80    +86.80
log storage       310.20   921.70   +611.50
network           240.00   251.30    +11.30
§say
611 of the 712 euros are log storage: the pipeline's debug level has been on since the long
backfill.
§work 18
§user
Turn it down. And put a budget alarm on each service.
§work 9
§say
Debug logging is off again and each service has an alarm at 120 % of its three-month average.
"""

_QUESTION = """§system
You are a helpful assistant.
§user
My name is Tobias. How do I see which process holds port 8443?
§say
Hello Tobias. `ss -ltnp 'sport = :8443'` shows it; run it as root to see the process of other users.
§user
And what was my name?
§say
Tobias.
"""


def _story(title: str, agent: str, day: int, at: str, script: str, *, bare: bool = False) -> Story:
    models = {"codex": "gpt-5.1-codex", "claude-code": "claude-opus-4-5-20251101"}
    return Story(
        title=title,
        agent=agent,
        person=TOBIAS,
        project=PLATFORM,
        day=day,
        at=at,
        script=script,
        model=models.get(agent, "claude-sonnet-4-5"),
        bare=bare,
    )


STORIES = (
    _story("node-pool", "codex", 14, "14:12", _LOCK),
    _story("key-in-the-log", "chat", 13, "08:20", _LEAK),
    _story("upgrade-1-34", "claude-code", 6, "09:02", _UPGRADE),
    _story("expired-certificate", "chat", 5, "05:20", _CERTIFICATE),
    _story("higher-bill", "chat", 2, "13:30", _COSTS),
    _story("quick-question", "chat", 4, "16:05", _QUESTION, bare=True),
)
