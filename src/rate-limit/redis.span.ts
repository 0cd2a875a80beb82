import { traceCall } from '../platform/tracing/spans';
import { tracer } from '../platform/tracing/tracer';
import type { Charge } from './rate-limit.store';
import type { RedisLink } from './redis.link';
import type { ScriptCharge, ScriptResult } from './redis.script';

const CALL = {
  name: 'EVALSHA take',
  attributes: {
    'db.system.name': 'redis',
    'db.operation.name': 'EVALSHA',
    'db.query.summary': 'EVALSHA take',
  },
};

/** Runs the script, with a span if the process has an SDK for traces. */
export function runScript(
  link: Pick<RedisLink, 'run'>,
  { owner, key }: Charge,
  sent: ScriptCharge,
): Promise<ScriptResult> {
  return tracer ? traceCall(CALL, () => link.run(owner, key?.id, sent)) : link.run(owner, key?.id, sent);
}
