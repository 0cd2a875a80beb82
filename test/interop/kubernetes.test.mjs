import assert from 'node:assert/strict';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { after, suite, test } from 'node:test';
import { createRequire } from 'node:module';
import { ROOT } from './support/files.mjs';

// A CommonJS package in this folder, and an ES module in that of the project.
const { loadAll } = createRequire(import.meta.url)('js-yaml');

/** The modules of kubernetes-models by the `apiVersion` of a manifest. */
const SCHEMAS = {
  v1: () => import('kubernetes-models/v1'),
  'apps/v1': () => import('kubernetes-models/apps/v1'),
  'autoscaling/v2': () => import('kubernetes-models/autoscaling/v2'),
  'networking.k8s.io/v1': () => import('kubernetes-models/networking.k8s.io/v1'),
  'policy/v1': () => import('kubernetes-models/policy/v1'),
};

const isMissing = spawnSync('kubectl', ['version', '--client']).status !== 0;
const skip = isMissing && 'kubectl is not installed, so the manifests were not rendered';

suite('deploy/kubernetes', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-kubernetes-'));
  cpSync(join(ROOT, 'deploy/kubernetes'), folder, { recursive: true });
  mkdirSync(join(folder, 'production/secrets'), { recursive: true });
  for (const name of ['database-url', 'redis-url']) {
    writeFileSync(join(folder, 'production/secrets', name), 'secret');
  }
  after(() => rmSync(folder, { recursive: true }));

  for (const overlay of ['base', 'production']) {
    test(`${overlay} is rendered by kubectl, and every manifest is valid by the schema of Kubernetes`, async () => {
      const manifests = render(join(folder, overlay));
      assert.ok(manifests.length >= 7);
      for (const manifest of manifests) {
        const { [manifest.kind]: Model } = await SCHEMAS[manifest.apiVersion]();
        new Model(manifest).validate();
      }
    });
  }

  test('the selectors of all manifests name the labels of the pods', () => {
    const { Deployment, Service, PodDisruptionBudget, NetworkPolicy } = byKind(render(join(folder, 'base')));
    const { labels } = Deployment.spec.template.metadata;
    assert.deepEqual(Deployment.spec.selector.matchLabels, labels);
    assert.deepEqual(Service.spec.selector, labels);
    assert.deepEqual(PodDisruptionBudget.spec.selector.matchLabels, labels);
    assert.deepEqual(NetworkPolicy.spec.podSelector.matchLabels, labels);
  });

  test('a changed setting or secret is a new version of the pods, because its name is another', () => {
    const [container, { secret }, settings] = configured();
    writeFileSync(join(folder, 'production/secrets/database-url'), 'another');
    appendFileSync(join(folder, 'production/config.env'), 'LOG_LEVEL=warn\n');
    const [, { secret: otherSecret }, changed] = configured();
    assert.notEqual(otherSecret.secretName, secret.secretName);
    assert.notEqual(changed.metadata.name, settings.metadata.name);
    assert.equal(container.envFrom[0].configMapRef.name, settings.metadata.name);
    // The overlay adds settings to those of the base, or replaces them.
    assert.equal(changed.data.DEPLOYMENT, 'production');
    assert.equal(changed.data.PUBLIC_BASE_URL, 'https://api.example.com/v1');
    assert.equal(changed.data.LOG_LEVEL, 'warn');
  });

  function configured() {
    const { Deployment, ConfigMap } = byKind(render(join(folder, 'production')));
    const { containers, volumes } = Deployment.spec.template.spec;
    return [containers[0], volumes[0], ConfigMap];
  }

  test('the autoscaler alone decides the number of pods, so that a new version keeps it', () => {
    const { Deployment, HorizontalPodAutoscaler } = byKind(render(join(folder, 'base')));
    assert.equal(Deployment.spec.replicas, undefined);
    assert.ok(HorizontalPodAutoscaler.spec.minReplicas >= 2);
  });

  test('the pods are restricted, and a rolling update keeps all of them', () => {
    const { spec } = byKind(render(join(folder, 'base'))).Deployment;
    assert.equal(spec.strategy.rollingUpdate.maxUnavailable, 0);
    const [container] = spec.template.spec.containers;
    assert.equal(spec.template.spec.securityContext.runAsNonRoot, true);
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });
});

function render(path) {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return loadAll(stdout);
}

function byKind(manifests) {
  return Object.fromEntries(manifests.map((manifest) => [manifest.kind, manifest]));
}
