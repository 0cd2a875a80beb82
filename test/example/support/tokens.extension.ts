import { Global, Injectable, Module } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Extension, Principal } from '../../../src';
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

const asGiven = (principal: Principal): unknown => ({ principal });
/** The result of `identify` for a token. A spec replaces it. */
export const result = { of: asGiven, asGiven };

/** Identifies requests by tokens that name an account and scopes, and by the store's own keys. */
@Injectable()
class TokenAuthenticator extends Authenticator {
  constructor(
    private readonly accounts: AccountsService,
    private readonly keys: KeyAuthenticator,
  ) {
    super();
  }

  override async identify(request: FastifyRequest): Promise<Identity> {
    const token = bearerToken(request);
    if (typeof token !== 'string') return token;
    if (token.startsWith('ask_')) return this.keys.identify(request);
    const [, name, scopes = ''] = /^token-(\w+)=([a-z:,]+)$/.exec(token) ?? [];
    if (name === undefined) return { rejection: invalidApiKey() };
    const { id: accountId, name: accountName, plan, ...account } = await this.accounts.findOrCreate(name);
    const limits = limitsOf({ plan, ...account });
    const keyId = `token of ${name}`;
    return result.of({ accountId, accountName, keyId, scopes: scopes.split(','), plan, limits }) as Identity;
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
