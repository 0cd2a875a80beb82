import { createHmac, timingSafeEqual } from 'node:crypto';
import { Global, Injectable, Module } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Extension } from '../../../src';
import {
  AccountsModule,
  AccountsService,
  Authenticator,
  AuthModule,
  bearerToken,
  type Identity,
  invalidApiKey,
  KeyAuthenticator,
  limitsOf,
  OWN_AUTHENTICATOR,
} from '../../../src/replace';

const SECRET = 'a secret of the identity provider';

interface Claims {
  readonly sub: string;
  readonly scope: string;
}

function sign(text: string): string {
  return createHmac('sha256', SECRET).update(text).digest('base64url');
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Creates a JSON Web Token (RFC 7519) as an identity provider does. */
export function tokenOf(claims: Claims): string {
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${text}.${sign(text)}`;
}

function claimsOf(token: string): Claims | undefined {
  const [head = '', claims = '', signature = ''] = token.split('.');
  const expected = Buffer.from(sign(`${head}.${claims}`));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return JSON.parse(Buffer.from(claims, 'base64url').toString()) as Claims;
}

/** Identifies requests by tokens of an identity provider, and by the store's own keys. */
@Injectable()
class TokenAuthenticator extends Authenticator {
  constructor(
    private readonly accounts: AccountsService,
    private readonly keys: KeyAuthenticator,
  ) {
    super();
  }

  override identify(request: FastifyRequest): Identity | Promise<Identity> {
    const token = bearerToken(request);
    if (typeof token !== 'string') return token;
    if (token.startsWith('ask_')) return this.keys.identify(request);
    const claims = claimsOf(token);
    return claims ? this.principalOf(claims) : { rejection: invalidApiKey() };
  }

  private async principalOf({ sub, scope }: Claims): Promise<Identity> {
    const account = await this.accounts.findOrCreate(sub);
    const principal = {
      accountId: account.id,
      accountName: account.name,
      keyId: `token of ${sub}`,
      scopes: scope.split(' '),
      plan: account.plan,
      limits: limitsOf(account),
    };
    return { principal };
  }
}

@Global()
@Module({
  imports: [AccountsModule, AuthModule],
  providers: [{ provide: OWN_AUTHENTICATOR, useClass: TokenAuthenticator }],
  exports: [OWN_AUTHENTICATOR],
})
class TokensModule {}

/** An authenticator as a team writes it. */
export const tokens: Extension = { name: 'tokens', modules: [TokensModule] };
