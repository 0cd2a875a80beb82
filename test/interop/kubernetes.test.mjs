import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { ROOT } from './support/files.mjs';

// A CommonJS package in this folder, and an ES module in that of the project.
const { loadAll } = createRequire(import.meta.url)('js-yaml');

const isMissing = spawnSync('kubectl', ['version', '--client']).status !== 0;
const skip = isMissing && 'kubectl is not installed, so the manifests were not rendered';

suite('deploy/kubernetes', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-kubernetes-'));
  const secrets = join(folder, 'production', 'secrets');
  cpSync(join(ROOT, 'deploy/kubernetes'), folder, { recursive: true });
  mkdirSync(secrets, { recursive: true });
  for (const name of ['database-url', 'redis-url']) writeFileSync(join(secrets, name), 'secret');
  after(() => rmSync(folder, { recursive: true }));

  /** Renders an overlay. @returns the manifests by their kinds, each valid by the schema of Kubernetes */
  async function render(overlay) {
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(folder, overlay)], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    const manifests = loadAll(stdout);
    assert.ok(manifests.length >= 7);
    for (const manifest of manifests) {
      const { [manifest.kind]: Model } = await import(`kubernetes-models/${manifest.apiVersion}`);
      new Model(manifest).validate();
    }
    return Object.fromEntries(manifests.map((manifest) => [manifest.kind, manifest]));
  }

  test('base has valid manifests, whose selectors name the restricted pods, as many as the autoscaler decides', async () => {
    const manifests = await render('base');
    const { spec } = manifests.Deployment;
    const { labels } = spec.template.metadata;
    assert.deepEqual(spec.selector.matchLabels, labels);
    assert.deepEqual(manifests.Service.spec.selector, labels);
    assert.deepEqual(manifests.PodDisruptionBudget.spec.selector.matchLabels, labels);
    assert.deepEqual(manifests.NetworkPolicy.spec.podSelector.matchLabels, labels);
    // A new version keeps their number, and a rolling update all of them.
    assert.equal(spec.replicas, undefined);
    assert.ok(manifests.HorizontalPodAutoscaler.spec.minReplicas >= 2);
    assert.equal(spec.strategy.rollingUpdate.maxUnavailable, 0);
    assert.equal(spec.template.spec.securityContext.runAsNonRoot, true);
    assert.deepEqual(spec.template.spec.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('production has valid manifests; a changed setting or secret is a new version of the pods, by another name', async () => {
    const before = await render('production');
    writeFileSync(join(secrets, 'database-url'), 'another');
    appendFileSync(join(folder, 'production/config.env'), 'LOG_LEVEL=warn\n');
    const { Deployment, ConfigMap } = await render('production');
    const secretOf = ({ spec }) => spec.template.spec.volumes[0].secret.secretName;
    assert.notEqual(secretOf(Deployment), secretOf(before.Deployment));
    assert.notEqual(ConfigMap.metadata.name, before.ConfigMap.metadata.name);
    const [{ envFrom }] = Deployment.spec.template.spec.containers;
    assert.equal(envFrom[0].configMapRef.name, ConfigMap.metadata.name);
    // The overlay adds settings to those of the base, or replaces them.
    const { DEPLOYMENT, PUBLIC_BASE_URL, LOG_LEVEL } = ConfigMap.data;
    assert.deepEqual(
      [DEPLOYMENT, PUBLIC_BASE_URL, LOG_LEVEL],
      ['production', 'https://api.example.com/v1', 'warn'],
    );
  });
});
