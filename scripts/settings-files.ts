import { createStore } from '../src/app/store';
import { type Setting, settings } from '../src/config/settings';

const COMMENT_WIDTH = 118;

const ENV_INTRODUCTION = [
  'Copy this file (`install -m 600 .env.example .env`) and change what you need.',
  'The service and the command line read `.env` in the working directory. Variables that are set already win over it.',
  'Only its owner may write `.env`: it can name programs to run. An empty value means the default.',
  'This file is generated from src/config/settings.ts by `npm run -s settings`.',
];

const PAGE_INTRODUCTION = `# Settings

<!-- Generated from src/config/settings.ts by \`npm run -s settings\`. -->

Set environment variables, or copy [.env.example](../.env.example) to \`.env\` in the working directory; variables that are set already win over it. The service and the command line read them at the start. An empty value means the default.

If settings are invalid, or of an earlier version, one message names all of them.
`;

/** The settings of the first table. */
const BASIC = [
  'DEPLOYMENT',
  'HOST',
  'PORT',
  'PUBLIC_BASE_URL',
  'DATABASE_URL',
  'REDIS_URL',
  'TRUST_PROXY',
  'METRICS_PORT',
];

/** Builds the files that list every setting, by their path in the repository. */
export function settingsFiles(): Readonly<Record<string, string>> {
  const known: Record<string, Setting<unknown>> = { ...settings, ...createStore().settings };
  const all = Object.values(known).flatMap(withFile);
  return { '.env.example': envExample(all), 'docs/settings.md': settingsPage(all) };
}

/** Adds the variable for the file of a secret. */
function withFile(setting: Setting<unknown>): Setting<unknown>[] {
  const { variable, isSecret = false } = setting;
  if (!isSecret) return [setting];
  const meaning = `File whose one line is the value of \`${variable}\`, such as a secret of Docker or Kubernetes. Set only one of the two.`;
  return [setting, { ...setting, variable: `${variable}_FILE`, defaultText: '', meaning }];
}

function envExample(all: readonly Setting<unknown>[]): string {
  const entries = all.map(({ variable, defaultText, meaning }) =>
    [...commentLines(meaning), `${variable}=${defaultText}`].join('\n'),
  );
  return `${ENV_INTRODUCTION.flatMap(commentLines).join('\n')}\n\n${entries.join('\n')}\n`;
}

function settingsPage(all: readonly Setting<unknown>[]): string {
  const basic = BASIC.flatMap((name) => all.filter(({ variable }) => variable === name));
  const advanced = all.filter(({ variable }) => !BASIC.includes(variable));
  const tables = `${tableOf(basic)}\n\n## Advanced\n\n${tableOf(advanced)}`;
  return `${PAGE_INTRODUCTION}\n<!-- prettier-ignore-start -->\n\n${tables}\n\n<!-- prettier-ignore-end -->\n`;
}

function tableOf(some: readonly Setting<unknown>[]): string {
  const rows = some.map(({ variable, defaultText, meaning }) => {
    const shown = defaultText === '' ? 'empty' : `\`${defaultText}\``;
    return `| \`${variable}\` | ${shown} | ${meaning} |`;
  });
  return ['| name | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** Breaks a text into comment lines, without the marks of Markdown. */
function commentLines(text: string): string[] {
  const lines = text.replaceAll('`', '').match(new RegExp(`.{1,${COMMENT_WIDTH}}(?: |$)`, 'g')) ?? [];
  return lines.map((line) => `# ${line.trimEnd()}`);
}
