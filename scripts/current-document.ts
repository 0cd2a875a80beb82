import 'reflect-metadata';
import { createPreview } from '../src/app/extension-checks';
import { createStore } from '../src/app/store';
import { readConfig } from '../src/platform/config/config';
import { planTable } from '../src/accounts';
import { createDocument, jsonText } from '../src/server/openapi/document';

/** Creates the document of the current code under the default settings, without a database. */
export async function currentDocument(): Promise<string> {
  const store = createStore();
  const config = readConfig({}, store.settings);
  const app = await createPreview(config, store);
  const text = jsonText(
    createDocument(app, config, store.extensions(config), store.errors, planTable()).complete(),
  );
  await app.close();
  return text;
}
