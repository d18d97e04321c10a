/** What one presses, types and drags. */

import { useEffect, useId, useState, type ButtonHTMLAttributes, type ReactNode, type Ref } from "react";
import { useTellProblem } from "./wrong.js";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "primary" | "plain" | "quiet";
  small?: boolean;
  ref?: Ref<HTMLButtonElement>;
  /** It does nothing for now, but keeps the keyboard's focus, which a disabled button drops to the page's beginning. */
  resting?: boolean;
}

export function Button({ kind = "plain", small = false, resting = false, className = "", onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={`button ${kind} ${small ? "small" : ""} ${className}`}
      aria-disabled={resting || undefined}
      onClick={resting ? undefined : onClick}
      {...rest}
    />
  );
}

interface FieldProps {
  label: string;
  hint?: ReactNode;
  problem?: string | undefined;
  /** Shown at the end of the label, such as a slider's value. */
  value?: ReactNode;
  children: (id: string) => ReactNode;
}

/** A label with its control, a hint, and what is wrong. */
export function Field({ label, hint, problem, value, children }: FieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        <span>{label}</span>
        {value !== undefined && <span className="number">{value}</span>}
      </label>
      {children(id)}
      {problem !== undefined ? (
        <span className="field-problem" role="alert">
          {problem}
        </span>
      ) : hint !== undefined ? (
        <span className="field-hint">{hint}</span>
      ) : null}
    </div>
  );
}

interface NumberFieldProps {
  label: string;
  value: number;
  onChange: (value: number) => void;
  min?: number;
  max?: number;
  step?: number | "any";
  whole?: boolean;
  hint?: ReactNode;
  disabled?: boolean;
}

/** A number that is taken when it makes sense; what does not is shown as wrong and left to be mended. */
export function NumberField({
  label,
  value,
  onChange,
  min = -Infinity,
  max = Infinity,
  step = "any",
  whole = false,
  hint,
  disabled,
}: NumberFieldProps) {
  const [typed, setTyped] = useState(String(value));
  useEffect(() => setTyped((before) => (Number(before) === value ? before : String(value))), [value]);
  const bad = (text: string) => {
    const number = Number(text);
    if (text.trim() === "" || Number.isNaN(number)) return "a number, please";
    if (whole && !Number.isInteger(number)) return "a whole number, please";
    if (number < min || number > max) return max === Infinity ? `${min} or more` : `between ${min} and ${max}`;
    return undefined;
  };
  const problem = bad(typed);
  useTellProblem(problem === undefined ? undefined : `Correct “${label}” first: ${problem}`);
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(id) => (
        <input
          id={id}
          className="input"
          type="number"
          inputMode={whole ? "numeric" : "decimal"}
          value={typed}
          step={step}
          {...(Number.isFinite(min) && { min })}
          {...(Number.isFinite(max) && { max })}
          disabled={disabled}
          aria-invalid={problem !== undefined}
          onChange={({ target }) => {
            setTyped(target.value);
            if (bad(target.value) === undefined) onChange(Number(target.value));
          }}
        />
      )}
    </Field>
  );
}

interface SelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
  hint?: ReactNode;
  disabled?: boolean;
}

export function Select<T extends string>({ label, value, options, onChange, hint, disabled }: SelectProps<T>) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <select
          id={id}
          className="input"
          value={value}
          disabled={disabled}
          onChange={({ target }) => onChange(target.value as T)}
        >
          {options.map(([option, name]) => (
            <option key={option} value={option}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface SliderProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number;
  /** How the value is written. */
  write?: (value: number) => string;
  onChange: (value: number) => void;
  hint?: ReactNode;
  disabled?: boolean;
}

export function Slider({ label, value, min, max, step = 1, write = String, onChange, hint, disabled }: SliderProps) {
  return (
    <Field label={label} value={write(value)} hint={hint}>
      {(id) => (
        <input
          id={id}
          className="slider"
          type="range"
          value={value}
          min={min}
          max={max}
          step={step}
          disabled={disabled}
          aria-valuetext={write(value)}
          onChange={({ target }) => onChange(Number(target.value))}
        />
      )}
    </Field>
  );
}

export function Check({
  label,
  value,
  onChange,
  disabled,
  hint,
}: {
  label: string;
  value: boolean;
  onChange: (value: boolean) => void;
  disabled?: boolean;
  /** What it does, or why it cannot be chosen. */
  hint?: string;
}) {
  const id = useId();
  const box = (
    <label className="check">
      <input
        type="checkbox"
        checked={value}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : id}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span>{label}</span>
    </label>
  );
  if (hint === undefined) return box;
  return (
    <div className="field">
      {box}
      <span className="field-hint" id={id}>
        {hint}
      </span>
    </div>
  );
}

interface SegmentsProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
  disabled?: boolean;
}

/** A few choices side by side, one of them taken. */
export function Segments<T extends string>({ label, value, options, onChange, disabled }: SegmentsProps<T>) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map(([option, name]) => (
        <button key={option} type="button" aria-pressed={option === value} disabled={disabled} onClick={() => onChange(option)}>
          {name}
        </button>
      ))}
    </div>
  );
}
