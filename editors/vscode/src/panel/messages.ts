/** What the extension tells the chat view. */
export type ToPanel = never;

/** What the chat view tells the extension: checked before it is believed. */
export type FromPanel = never;
