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

/** Identifies requests by the name of an account, and by the store's own keys. */
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
    if (token === '') return { rejection: invalidApiKey() };
    const { id: accountId, name: accountName, plan, ...account } = await this.accounts.findOrCreate(token);
    const limits = limitsOf({ plan, ...account });
    return { principal: { accountId, accountName, keyId: token, scopes: ['pets:read'], plan, limits } };
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
