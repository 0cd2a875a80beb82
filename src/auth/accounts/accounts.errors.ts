import { defineErrors } from '../../api/errors/api-error';

/** The codes of changes and reads that the state of accounts and keys does not allow. Commands print the message. */
export const accountErrors = defineErrors({
  account_not_found: {
    status: 404,
    when: 'no account has this name',
    message: 'There is no account with this name: list the accounts.',
  },
  key_not_found: {
    status: 404,
    when: 'no key has this id',
    message: 'There is no key with this id: list the keys.',
  },
  account_exists: {
    status: 409,
    when: 'the name is taken',
    message: 'An account with this name exists already.',
  },
  account_disabled: {
    status: 409,
    when: 'the account is disabled',
    message: 'The account is disabled: a key of it would be invalid. Enable the account first.',
  },
  plan_conflict: {
    status: 409,
    when: 'a limit does not fit the plan of the account',
    message: 'The plan enterprise needs both perMinute and perDay; other plans accept neither.',
  },
  key_not_usable: {
    status: 409,
    when: 'the key was revoked or has expired',
    message: 'The key was revoked or has expired: create a new key instead.',
  },
});
