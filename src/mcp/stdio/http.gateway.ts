import { UserError } from '../../platform/errors/user-error';
import type { Gateway } from '../agent-server';
import type { ApiCall, ApiResponse } from '../tools/api-call';
import type { ApiDocument } from '../tools/api-document';
import { type Tool, toolsOf } from '../tools/tool';

/** An API, and the key that the agent uses. */
export interface Deployment {
  /** Such as `https://api.example.com/v1`. */
  readonly baseUrl: string;
  readonly key: string;
}

/** Longer than the service works on a request. */
const TIMEOUT_MS = 30_000;

const KEY_OPERATION: ApiCall = { method: 'GET', path: '/key', headers: {} };

/** Sends calls to a deployment over HTTP. */
export class HttpGateway implements Gateway {
  private constructor(
    private readonly deployment: Deployment,
    readonly session: string,
    readonly info: ApiDocument['info'],
    readonly tools: readonly Tool[],
  ) {}

  /**
   * Reads the deployment's own document.
   *
   * @param session a text that no other client has
   * @throws UserError
   */
  static async open(deployment: Deployment, session: string): Promise<HttpGateway> {
    const address = `${deployment.baseUrl.replace(/\/v1$/, '')}/openapi.json`;
    const document = await readDocument(address);
    const gateway = new HttpGateway(deployment, session, document.info, toolsOf(document));
    await gateway.scopes();
    return gateway;
  }

  /** They may change while the agent works. */
  async scopes(): Promise<readonly string[]> {
    const { status, body } = await this.send(KEY_OPERATION);
    if (status !== 200) {
      throw new UserError(`${this.deployment.baseUrl} refuses the key: ${messageOf(body)} Check --key-file.`);
    }
    const { scopes }: { readonly scopes: readonly string[] } = JSON.parse(body);
    return scopes;
  }

  async send({ method, path, headers, body }: ApiCall): Promise<ApiResponse> {
    return reach(this.deployment.baseUrl + path, {
      method,
      headers: { ...headers, accept: 'application/json', authorization: `Bearer ${this.deployment.key}` },
      ...(body !== undefined && { body }),
    });
  }
}

async function readDocument(address: string): Promise<ApiDocument> {
  const { body } = await reach(address, {});
  const document = parsed(body);
  if (!isDocument(document)) {
    throw new UserError(`${address} is not the OpenAPI document of an Animal Store: check --base-url.`);
  }
  return document;
}

function isDocument(value: unknown): value is ApiDocument {
  return typeof value === 'object' && value !== null && 'paths' in value && 'info' in value;
}

/** A redirect could carry the key to another host. */
async function reach(address: string, init: RequestInit): Promise<ApiResponse> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(address, { ...init, redirect: 'error', signal });
    const { status, headers } = response;
    return { status, headers: Object.fromEntries(headers), body: await response.text() };
  } catch {
    throw new UserError(
      `${new URL(address).origin} gives no answer, and a call may have had its effect: check --base-url and that the deployment runs, then repeat the call with the same Idempotency-Key.`,
    );
  }
}

function messageOf(body: string): string {
  const error = parsed(body);
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : 'it is not an Error body.';
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
