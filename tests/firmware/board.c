/* Runs the self-test of an exported policy on an emulated Cortex-M4F, and counts the instructions of a step and the
 * bytes of stack. With `-icount shift=0` QEMU's clock advances by 1 ns for each instruction; SysTick counts at 168 MHz.
 * Compile with
 * -DPOLICY=name -DPREFIX=NAME -DHEADER='"name.h"', and -DHAS_STATE for a policy of the state. */
#include HEADER

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OWN(suffix) JOIN(POLICY, suffix)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

#define SYST_CSR (*(volatile uint32_t *)0xE000E010U)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014U)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018U)
#define CPACR (*(volatile uint32_t *)0xE000ED88U)

extern uint32_t data_load, data_start, data_end, bss_start, bss_end;
extern void initialise_monitor_handles(void);
int main(void);
void reset(void);
void stack_top(void); /* an address of the linker script */
void _exit(int status);

__attribute__((section(".vectors"), used)) static void (*const vectors[2])(void) = {stack_top, reset};

void reset(void)
{
  CPACR |= 0xFU << 20; /* the floating-point unit */
  __asm volatile("dsb\n isb");
  memcpy(&data_start, &data_load, (size_t)((char *)&data_end - (char *)&data_start));
  memset(&bss_start, 0, (size_t)((char *)&bss_end - (char *)&bss_start));
  initialise_monitor_handles();
  _exit(main());
}

enum { STEPS = 100, PAINTED = 4096 };

static OWN(_policy) policy;
static OWN(_command) command;

/* A step with a level vehicle at rest at the goal, or with an observation of zeros. */
static void step(void)
{
#ifdef HAS_STATE
  static const OWN(_state) state = {.attitude = {1.0F}};
  static const OWN(_goal) goal;
  (void)OWN(_step)(&policy, &state, &goal, &command);
#else
  static const float observation[JOIN(PREFIX, _OBSERVATIONS)];
  (void)OWN(_act)(&policy, observation);
  OWN(_convert)(policy.action, &command);
#endif
}

/* Bytes of stack of a step, by painting the memory below this function's. */
__attribute__((noinline)) static uint32_t stack_of_a_step(void)
{
  volatile uint8_t *top = (volatile uint8_t *)__builtin_frame_address(0) - 64;
  uint32_t unused = 0;
  for (uint32_t k = 1; k <= PAINTED; ++k) {
    top[-(int32_t)k] = 0xA5;
  }
  step();
  while (unused < PAINTED && top[-(int32_t)(PAINTED - unused)] == 0xA5) {
    ++unused;
  }
  return PAINTED - unused + 64U;
}

int main(void)
{
  const float largest = OWN(_self_test)();
  uint32_t ticks;
  SYST_RVR = 0xFFFFFF;
  SYST_CVR = 0;
  SYST_CSR = 5; /* on, processor clock */
  ticks = SYST_CVR;
  for (int k = 0; k < STEPS; ++k) {
    step();
  }
  ticks = (ticks - SYST_CVR) & 0xFFFFFF;
  printf("error %.2e instructions %.0f stack %lu memory %u\n", (double)largest, ticks / 0.168 / STEPS,
      (unsigned long)stack_of_a_step(), (unsigned)sizeof policy);
  return largest > 1e-5F;
}
