/**
 * Finds a Chrome or Chromium, and the switches that it needs here.
 *
 * What touches the machine comes in as functions. Depends on: nothing.
 */
export interface BrowserSearch {
  /** What the person named. */
  readonly chosen: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  exists(path: string): boolean;
}

export type BrowserFound = { readonly kind: 'found'; readonly path: string } | { readonly kind: 'missing'; readonly message: string };

const usual: Readonly<Record<string, readonly string[]>> = {
  darwin: [
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
  linux: ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser', 'microsoft-edge'].flatMap((name) =>
    ['/usr/bin', '/usr/local/bin', '/snap/bin', '/opt/google/chrome'].map((folder) => `${folder}/${name}`),
  ),
};

export function findBrowser({ chosen, env, platform, exists }: BrowserSearch): BrowserFound {
  const named = chosen ?? env['TIDEMARK_CHROME'] ?? env['CHROME_PATH'];
  if (named !== undefined && named !== '') return exists(named) ? { kind: 'found', path: named } : missing([named]);
  const candidates = usual[platform] ?? usual['linux']!;
  const path = candidates.find(exists);
  return path === undefined ? missing(candidates) : { kind: 'found', path };
}

const missing = (tried: readonly string[]): BrowserFound => ({
  kind: 'missing',
  message: [
    `no Chrome or Chromium was found to open the page with`,
    ...tried.map((path) => `  - ${path} is not there`),
    'fix: install one, or name it with `--chrome PATH` or CHROME_PATH',
  ].join('\n'),
});

export interface BrowserSetting {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  readonly isRoot: boolean;
  readonly hasGPU: boolean;
  readonly folder: string;
}

/**
 * A browser asks things of its maker on its own: nothing of that belongs to a measurement, and nothing leaves the machine for
 * one. Its accounts and its updates have no switch; they are sent to a port of this machine where nobody is. What the page
 * itself asks for is not touched.
 */
const silent = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-component-extensions-with-background-pages',
  '--disable-client-side-phishing-detection',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-breakpad',
  '--disable-sync',
  '--metrics-recording-only',
  '--no-pings',
  '--gaia-url=http://127.0.0.1:9/',
  '--component-updater=url-source=http://127.0.0.1:9/',
  '--disable-features=OptimizationHints,OptimizationGuideModelDownloading,MediaRouter,Translate,NetworkTimeServiceQuerying,CertificateTransparencyComponentUpdater,AutofillServerCommunication',
];

export function browserSwitches({ env, platform, isRoot, hasGPU, folder }: BrowserSetting): readonly string[] {
  const noScreen = platform === 'linux' && env['DISPLAY'] === undefined && env['WAYLAND_DISPLAY'] === undefined;
  return [
    '--remote-debugging-port=0',
    `--user-data-dir=${folder}`,
    '--no-first-run',
    '--no-default-browser-check',
    '--disable-background-timer-throttling',
    '--disable-backgrounding-occluded-windows',
    '--disable-renderer-backgrounding',
    ...silent,
    '--enable-unsafe-webgpu',
    ...(hasGPU ? [] : ['--use-webgpu-adapter=swiftshader', '--enable-unsafe-swiftshader']),
    ...(noScreen ? ['--headless=new'] : []),
    // A browser that is started by root refuses to run with its sandbox.
    ...(isRoot ? ['--no-sandbox'] : []),
    ...(env['TIDEMARK_CHROME_SWITCHES'] ?? '').split(' ').filter((word) => word !== ''),
    'about:blank',
  ];
}
