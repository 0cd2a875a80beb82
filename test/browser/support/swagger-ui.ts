import type { Locator, Page } from 'playwright-core';

export interface Shown {
  readonly status: string;
  readonly headers: string;
  /** Empty if the response has none. */
  readonly body: string;
  readonly curl: string;
  readonly url: string;
}

/** The request as the browser sent it. */
export interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Drives Swagger UI by clicks, like a user. */
export class SwaggerUi {
  constructor(private readonly page: Page) {}

  async authorize(key: string): Promise<void> {
    await this.page.locator('.scheme-container button.authorize').click();
    await this.page.locator('.modal-ux input').fill(key);
    await this.page.locator('.modal-ux .auth-btn-wrapper button.authorize').click();
    await this.page.locator('.modal-ux .btn-done').click();
  }

  block(tag: string, operationId: string): Locator {
    return this.page.locator(`[id="operations-${tag}-${operationId}"]`);
  }

  /** Opens an operation, and activates "Try it out". */
  async open(tag: string, operationId: string): Promise<Locator> {
    const block = await this.unfold(tag, operationId);
    // While "Try it out" is active there are two buttons: Cancel and Reset.
    const tryOut = block.locator('button.try-out__btn').first();
    await tryOut.waitFor();
    if (!(await block.locator('button.execute').isVisible())) await tryOut.click();
    return block;
  }

  /** Opens only this operation: each open one costs Swagger UI time with every key stroke. */
  async unfold(tag: string, operationId: string): Promise<Locator> {
    const block = this.block(tag, operationId);
    if (!(await block.locator('.opblock-body').isVisible())) {
      for (const open of await this.page.locator('.opblock.is-open .opblock-summary-control').all()) {
        await open.click();
      }
      await block.locator('.opblock-summary-control').click();
    }
    return block;
  }

  /** Executes "Try it out" with these parameters and this body. A list is one input for each item. */
  async tryOut(
    tag: string,
    operationId: string,
    values: Record<string, string | readonly string[]>,
    body?: string,
  ): Promise<Shown & { readonly sent: Sent }> {
    const block = await this.open(tag, operationId);
    for (const [name, value] of Object.entries(values)) {
      const row = block.locator(`tr[data-param-name="${name}"]`);
      const texts = [value].flat();
      if (Array.isArray(value)) {
        for (const _ of texts) await row.locator('button.json-schema-form-item-add').click();
      }
      if ((await row.locator('select').count()) > 0) await row.locator('select').selectOption(texts);
      else for (const [at, text] of texts.entries()) await row.locator('input').nth(at).fill(text);
    }
    if (body !== undefined) await block.locator('textarea.body-param__text').fill(body);
    const request = this.page.waitForRequest(/[/]v1[/]/);
    await block.locator('button.execute').click();
    const sent = await request;
    const shown = await shownIn(block);
    return { ...shown, sent: { url: sent.url(), headers: sent.headers(), body: sent.postData() } };
  }
}

async function shownIn(block: Locator): Promise<Shown> {
  const live = block.locator('.live-responses-table tbody .response');
  await live.waitFor();
  const body = live.locator('.highlight-code pre.microlight');
  return {
    status: (await live.locator('.response-col_status').innerText()).trim(),
    headers: await live.locator('pre.microlight:has(.headerline)').innerText(),
    body: (await body.count()) > 0 ? await body.innerText() : '',
    curl: await block.locator('.curl-command pre').innerText(),
    url: await block.locator('.request-url pre').innerText(),
  };
}
