import type { Locator, Page } from 'playwright-core';

/** Drives Swagger UI by clicks, like a user. */
export class SwaggerUi {
  constructor(private readonly page: Page) {}

  async authorize(key: string): Promise<void> {
    await this.page.locator('.modal-ux input').fill(key);
    await this.page.locator('.modal-ux .auth-btn-wrapper button.authorize').click();
    await this.page.locator('.modal-ux .btn-done').click();
  }

  /** Opens only this operation, and activates "Try it out". */
  async open(tag: string, operationId: string): Promise<Locator> {
    const block = this.page.locator(`[id="operations-${tag}-${operationId}"]`);
    if (!(await block.locator('.opblock-body').isVisible())) {
      // Each open one costs Swagger UI time with every key stroke.
      for (const open of await this.page.locator('.opblock.is-open .opblock-summary-control').all()) {
        await open.click();
      }
      await block.locator('.opblock-summary-control').click();
    }
    // While "Try it out" is active there are two buttons: Cancel and Reset.
    const tryOut = block.locator('button.try-out__btn').first();
    await tryOut.waitFor();
    if (!(await block.locator('button.execute').isVisible())) await tryOut.click();
    return block;
  }

  /** Executes an open operation. @returns its request as the browser sent it, and what the page shows of it and of the response */
  async execute(block: Locator, values: Record<string, string> = {}, body?: string) {
    for (const [name, value] of Object.entries(values)) {
      await block.locator(`tr[data-param-name="${name}"] input`).fill(value);
    }
    if (body !== undefined) await block.locator('textarea.body-param__text').fill(body);
    const request = this.page.waitForRequest(/[/]v1[/]/);
    await block.locator('button.execute').click();
    const sent = await request;
    const received = String((await sent.response())?.status());
    const live = block.locator('.live-responses-table tbody .response');
    const status = live.locator('.response-col_status');
    // The page shows the response before until it has drawn this one.
    await status.filter({ hasText: received }).waitFor();
    return {
      sent,
      status: (await status.innerText()).trim(),
      body: await live.locator('.highlight-code pre.microlight').innerText(),
      curl: await block.locator('.curl-command pre').innerText(),
      url: await block.locator('.request-url pre').innerText(),
    };
  }
}
