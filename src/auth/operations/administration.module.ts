import { AccountsModule } from '../accounts.module';
import { ADMIN_SCOPE, StoreExtension } from '../../api/extension/extension';
import { AccountsController, KeysController } from './administration.controllers';
import { AdministrationRepository } from './administration.repository';
import { AdministrationService } from './administration.service';

@StoreExtension({
  name: 'administration',
  scopes: [ADMIN_SCOPE],
  tags: {
    accounts: 'The accounts with their plans, and the audit of every change of accounts and keys.',
    keys: 'The API keys of all accounts.',
  },
  imports: [AccountsModule],
  controllers: [AccountsController, KeysController],
  providers: [AdministrationRepository, AdministrationService],
})
export class AdministrationModule {}
