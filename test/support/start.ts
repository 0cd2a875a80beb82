import { greet } from '../../src/banner';
import { readConfig } from '../../src/config/config';
import { explain } from '../../src/explain';
import { startService, type StartedService } from '../../src/start';

/** The service as `npm start` starts it, in this process. */
export interface ServiceHere extends StartedService {
  /** What it printed for a person. */
  readonly printed: string;
  /** The key of a first start. */
  readonly key: string | undefined;
}

/** What these processes did not come to stop would keep jest from ending. */
const started = new Set<StartedService>();
afterAll(async () => {
  for (const service of started) await service.stop();
});

/** @throws Error that `explain` makes a sentence of */
export async function startHere(environment: Record<string, string>): Promise<ServiceHere> {
  const service = await startService(readConfig({ PORT: '0', ...environment }), { write: () => undefined });
  started.add(service);
  let printed = '';
  await greet(service, {
    print: (text) => {
      printed += text;
      return Promise.resolve(true);
    },
  });
  const stop = () => {
    started.delete(service);
    return service.stop();
  };
  return { ...service, stop, printed, key: /^ {2}(ask_\w+)$/m.exec(printed)?.[1] };
}

/** The sentence with which a start in this environment ends. */
export async function refusalOf(environment: Record<string, string>): Promise<string> {
  try {
    await (await startHere(environment)).stop();
  } catch (error) {
    return explain(error);
  }
  throw new Error('the service has started');
}
