/**
 * The types of what is used of the package, which brings none.
 *
 * Depends on: nothing.
 */
declare module 'chrome-remote-interface' {
  export interface Client {
    send(method: string, params?: object, sessionId?: string): Promise<Record<string, unknown>>;
    on(event: 'event', listener: (message: { method: string; params: Record<string, unknown>; sessionId?: string }) => void): this;
    on(event: 'disconnect', listener: () => void): this;
    close(): Promise<void>;
  }
  export interface Options {
    readonly host?: string;
    readonly port?: number;
    readonly target?: string;
    readonly local?: boolean;
  }
  export default function CDP(options: Options): Promise<Client>;
}
