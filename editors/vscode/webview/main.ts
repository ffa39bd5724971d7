// The chat view's page.
export {};
