/* What a sketch needs of Arduino.h: the text of ROWS comes in, what it prints goes out. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#else
#define PSTR(text) (text)
#define pgm_read_byte(p) (*(const uint8_t *)(p))
#endif

/* Names that an Arduino has, to meet those of a model. */
#define HIGH 0x1
#define LOW 0x0
#define INPUT 0x0
#define PI 3.1415926535897932384626433832795
#define B1 1
#define B0 0
#define bit(b) (1UL << (b))
#define sq(x) ((x) * (x))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#undef abs
#define abs(x) ((x) > 0 ? (x) : -(x))
#undef round
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x) - 0.5))
typedef bool boolean;
typedef uint8_t byte;
class __FlashStringHelper;
#define F(text) (reinterpret_cast<const __FlashStringHelper *>(PSTR(text)))

void setup();
void loop();

class StandIn {
public:
    void begin(unsigned long) {}
    operator bool() { return true; }
    int available() { return 1; }
    int read()
    {
        static const char rows[] = ROWS;
        static unsigned place = 0;

        if (place + 1 == sizeof rows) {
#ifdef __AVR__
            cli();
            sleep_mode();
#endif
            exit(0);
        }
        return rows[place++];
    }
    void print(char c)
    {
#ifdef __AVR__
        UCSR0B = _BV(TXEN0);
        loop_until_bit_is_set(UCSR0A, UDRE0);
        UDR0 = (uint8_t)c;
#else
        putchar(c);
#endif
    }
    void print(const char *text)
    {
        for (; *text != '\0'; ++text) {
            print(*text);
        }
    }
    void print(const __FlashStringHelper *text)
    {
        const char *p = reinterpret_cast<const char *>(text);
        for (char c; (c = (char)pgm_read_byte(p)) != '\0'; ++p) {
            print(c);
        }
    }
    void print(long number)
    {
        char text[24];
        snprintf(text, sizeof text, "%ld", number);
        print(text);
    }
    void print(int number) { print((long)number); }
    void print(unsigned number) { print((long)number); }
    void print(double number, int digits)
    {
        char text[64];
#ifdef __AVR__
        dtostrf(number, 1, (unsigned char)digits, text);
#else
        snprintf(text, sizeof text, "%.*f", digits, number);
#endif
        print(text);
    }
    void println() { print('\n'); }
    template <class T> void println(T what)
    {
        print(what);
        println();
    }
};

static StandIn Serial;

int main()
{
    setup();
    for (;;) {
        loop();
    }
}

#endif
