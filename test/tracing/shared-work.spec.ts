import { trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { allSpans } from '../support/traces';
import { KeyLookups } from '../../src/auth/key-lookups';
import { CoalescedRead } from '../../src/platform/database/coalesced-read';
import { JoinedInserts } from '../../src/platform/database/joined-inserts';
import { traceStatement } from '../../src/platform/database/statement-spans';
import { TestClock } from '../support/clock';

const idOf = (span: ReadableSpan) => span.spanContext().spanId;
const linkedIds = ({ links }: ReadableSpan) => links.map(({ context }) => context.spanId);

describe('a statement that several requests share', () => {
  const statement = <T>(result: T) => traceStatement('shared', () => Promise.resolve(result));

  /** Runs work as a request, with a span of its own. */
  const inRequest = (name: string, work: () => Promise<unknown>) =>
    trace.getTracer('spec').startActiveSpan(name, async (span) => {
      await work();
      span.end();
    });

  /** Expects one statement below the first of the requests, with links to the others, and their links to it. */
  function expectShared(from: number, [first, ...others]: string[]): void {
    const spans = allSpans().slice(from);
    const span = (name: string) => spans.findLast((each) => each.name === name)!;
    const shared = span('shared');
    expect(shared.parentSpanContext?.spanId).toBe(idOf(span(first!)));
    expect(linkedIds(shared)).toEqual(others.map((name) => idOf(span(name))));
    expect(others.map((name) => linkedIds(span(name)))).toEqual(others.map(() => [idOf(shared)]));
    expect(linkedIds(span(first!))).toEqual([]);
  }

  it('is in the trace of the first creation that it joins, with links from and to the others', async () => {
    const inserts = new JoinedInserts((rows: readonly number[]) => statement(rows), 1_000);
    const from = allSpans().length;
    const names = ['one', 'two', 'three'];
    await Promise.all(names.map((name, at) => inRequest(name, () => inserts.add(at))));
    expectShared(from, names);
    // The batch that follows another one belongs to its own requests.
    const running = ['four', 'five'].map((name, at) => inRequest(name, () => inserts.add(at)));
    await Promise.all(running);
    expectShared(from, ['four', 'five']);
  });

  it('is in the trace of the first read that waits for it, with links from and to the others', async () => {
    const reads = new CoalescedRead<number>();
    const from = allSpans().length;
    const names = ['running', 'one', 'two', 'three'];
    await Promise.all(names.map((name) => inRequest(name, () => reads.read('page', () => statement(1)))));
    expect(allSpans().filter(({ name }, at) => at >= from && name === 'shared')).toHaveLength(2);
    expectShared(from, ['one', 'two', 'three']);
  });

  it('is in the trace of the first key lookup that waits for it, with links from and to the others', async () => {
    const lookups = new KeyLookups({ findBySecretHashes: () => statement(new Map()) }, new TestClock());
    const from = allSpans().length;
    const names = ['running', 'one', 'two', 'three'];
    await Promise.all(names.map((name) => inRequest(name, () => lookups.find(name))));
    expectShared(from, ['one', 'two', 'three']);
  });

  it('has no span if no request waits for it, as in background work', async () => {
    const inserts = new JoinedInserts((rows: readonly number[]) => statement(rows), 1_000);
    const from = allSpans().length;
    await inserts.add(1);
    expect(allSpans()).toHaveLength(from);
  });
});
