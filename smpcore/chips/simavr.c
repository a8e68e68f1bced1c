/* Runs avr.c on a simulated chip: rows from stdin; cycles, stack, answers to stdout.
 * Usage: simavr PROGRAM CHIP BYTES_OF_A_ROW BYTES_OF_ITS_ANSWERS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>

/* Addresses in data memory. */
enum { GPIOR0 = 0x3e, GPIOR1 = 0x4a, GPIOR2 = 0x4b, SPL = 0x5d, SPH = 0x5e };

static void quiet(avr_t *avr, const int level, const char *format, va_list values)
{
    (void)avr;
    (void)level;
    (void)format;
    (void)values;
}

static unsigned word(const avr_t *avr, int low, int high)
{
    return avr->data[low] | (unsigned)avr->data[high] << 8;
}

static int failed(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

int main(int argc, char **argv)
{
    static elf_firmware_t firmware;
    avr_t *avr;
    size_t given, told;
    avr_cycle_count_t start = 0;
    unsigned top = 0, lowest = 0;
    int mark = 0;

    avr_global_logger_set(quiet);
    if (argc != 5 || elf_read_firmware(argv[1], &firmware) != 0) {
        return failed("no program");
    }
    avr = avr_make_mcu_by_name(argv[2]);
    if (avr == NULL || firmware.flashsize > avr->flashend + 1) {
        return failed("the chip cannot hold the program");
    }
    given = (size_t)atol(argv[3]);
    told = (size_t)atol(argv[4]);
    avr_init(avr);
    avr_load_firmware(avr, &firmware);
    for (;;) {
        int state;
        unsigned stack;

        avr->run_cycle_count = 1; /* one instruction, so that no SP is missed */
        state = avr_run(avr);
        if (state == cpu_Done || state == cpu_Crashed) {
            return failed("the program crashed");
        }
        stack = word(avr, SPL, SPH);
        if (stack < lowest) {
            lowest = stack;
        }
        if (avr->data[GPIOR0] == mark) {
            continue;
        }
        mark = avr->data[GPIOR0];
        if (mark == 1) {
            if (fread(avr->data + word(avr, GPIOR1, GPIOR2), 1, given, stdin) < given) {
                return 0;
            }
        } else if (mark == 2) {
            start = avr->cycle;
            top = lowest = stack;
        } else if (mark == 3) {
            const uint32_t took[2] = {(uint32_t)(avr->cycle - start), top - lowest};
            fwrite(took, sizeof took, 1, stdout);
        } else {
            fwrite(avr->data + word(avr, GPIOR1, GPIOR2) + given, 1, told, stdout);
        }
    }
}
