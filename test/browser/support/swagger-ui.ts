import type { Locator, Page } from 'playwright-core';

export interface Shown {
  readonly status: string;
  readonly headers: string;
  readonly body: string;
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

  async logOut(): Promise<void> {
    await this.page.locator('.scheme-container button.authorize').click();
    await this.page.getByRole('button', { name: 'Remove authorization' }).click();
    await this.page.locator('.modal-ux .btn-done').click();
  }

  /** Executes "Try it out" with these parameters and this body. */
  async tryOut(
    tag: string,
    operationId: string,
    values: Record<string, string>,
    body?: string,
  ): Promise<Shown> {
    const block = this.page.locator(`[id="operations-${tag}-${operationId}"]`);
    await this.open(block);
    for (const [name, value] of Object.entries(values)) {
      await block.locator(`tr[data-param-name="${name}"]`).locator('input, select').first().fill(value);
    }
    if (body !== undefined) await block.locator('textarea.body-param__text').fill(body);
    // Removes the response to an earlier request, which could be read as the new one.
    const clear = block.locator('button.btn-clear');
    if (await clear.isVisible()) await clear.click();
    await block.locator('button.execute').click();
    const live = block.locator('.live-responses-table tbody .response');
    await live.waitFor();
    return {
      status: (await live.locator('.response-col_status').innerText()).trim(),
      headers: await live.locator('pre.microlight:has(.headerline)').innerText(),
      body: await live.locator('pre.microlight').first().innerText(),
    };
  }

  private async open(block: Locator): Promise<void> {
    if (!(await block.locator('.opblock-body').isVisible())) {
      await block.locator('.opblock-summary-control').click();
    }
    // While "Try it out" is active there are two buttons: Cancel and Reset.
    const tryOut = block.locator('button.try-out__btn').first();
    await tryOut.waitFor();
    if (!(await block.locator('button.execute').isVisible())) await tryOut.click();
  }
}
