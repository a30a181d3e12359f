import type { ChatMessage, PromptSource } from '../load-run.ts';
import { naturalTask, naturalText, type PromptSeed, type TextSeed } from './natural-prompts.ts';
import { seededRandom } from './seeded-random.ts';

/** Shape of an agent's session. */
export interface SessionShape {
  /** Requests of one session; default 6. */
  readonly turns?: number | undefined;
  /** Mean pause between two requests, seconds: a tool at work. Default 2. */
  readonly pauseSeconds?: number | undefined;
  /** Tokens that a turn adds, about: half the assistant's, half a tool's result. Default 600. */
  readonly turnTokens?: number | undefined;
}

const CHARACTERS_PER_TOKEN = 4;
export const DEFAULT_TURNS = 6;
export const DEFAULT_PAUSE_SECONDS = 2;
const DEFAULT_TURN_TOKENS = 600;

/** What all sessions of a run have in common, as an agent's instructions and tools are. */
const SYSTEM_SHARE = 0.5;

/**
 * Sessions of a coding agent: each request is the whole conversation so far and a new tool result,
 * so that a prefix cache answers all but the end. The first prompt of a session is about
 * `inputTokens` long, half of it the instructions that every session of the run shares.
 *
 * The assistant's turns are written here and not taken from the answers: every configuration gets
 * the same prompts, however it answers.
 */
export function sessionPrompts(
  options: PromptSeed & { readonly session?: SessionShape | undefined },
): PromptSource {
  const { inputTokens, seed, salt, session } = options;
  const turns = session?.turns ?? DEFAULT_TURNS;
  const pauseMs = (session?.pauseSeconds ?? DEFAULT_PAUSE_SECONDS) * 1000;
  const turnTokens = session?.turnTokens ?? DEFAULT_TURN_TOKENS;
  const turnCharacters = Math.round((turnTokens * CHARACTERS_PER_TOKEN) / 2);
  const firstCharacters = inputTokens * CHARACTERS_PER_TOKEN;
  const systemCharacters = Math.round(firstCharacters * SYSTEM_SHARE);
  const at = (...keys: (string | number)[]): TextSeed => ({ seed, salt, keys });
  const system = message('system', naturalText('long-context', systemCharacters, at('system')));

  const messages = (number: number, turn: number): ChatMessage[] => {
    const first = naturalText('code', firstCharacters - systemCharacters, at(number, 'user'));
    const task = naturalTask('code', at(number, 'user'));
    const list = [system, message('user', first + task)];
    for (let past = 1; past <= turn; past += 1) {
      const key = (role: string) => at(number, past, role);
      list.push(
        message('assistant', naturalText('chat', turnCharacters, key('assistant'))),
        message('user', `Tool result:\n${naturalText('code', turnCharacters, key('tool'))}`),
      );
    }
    return list;
  };
  return {
    name: 'agentic',
    cacheable: false,
    natural: true,
    // Everything but the newest part was sent before: cache hits are the point of it.
    sharedFraction: 1,
    turns,
    pauseMs: (index) => {
      const uniform = (seededRandom('pause', seed, salt, index).below(1_000_000) + 1) / 1_000_001;
      return -Math.log(uniform) * pauseMs;
    },
    prompt: (index) => {
      const [number, turn] = [Math.floor(index / turns), index % turns];
      return { kind: 'messages', messages: messages(number, turn) };
    },
  };
}

function message(role: string, content: string): ChatMessage {
  return { role, content };
}
